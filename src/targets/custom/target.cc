// SPDX-License-Identifier: Apache-2.0
// Reading of targets in TOML; docs/targets.md 10 says what a file may contain.
#include "targets/custom/target.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "core/atomic_file.h"
#include "core/format.h"
#include "core/string_util.h"
#include <toml++/toml.h>

namespace octet {

namespace {

constexpr size_t kMaxTargetBytes = size_t{1} << 20;

template <class T>
using Choices = std::vector<std::pair<std::string, T>>;

const Choices<Treatment>& treatments() {
  static const Choices<Treatment> all = {
      {"product", Treatment::kProduct},   {"around", Treatment::kAround},
      {"summed", Treatment::kSummed},     {"residual", Treatment::kResidual},
      {"moves", Treatment::kMoves},       {"absorbed", Treatment::kAbsorbed},
      {"commutes", Treatment::kCommutes}, {"float", Treatment::kFloat}};
  return all;
}
const Choices<OutputCodes>& outputs() {
  static const Choices<OutputCodes> all = {{"never", OutputCodes::kNever},
                                           {"when-read", OutputCodes::kWhenRead},
                                           {"always", OutputCodes::kAlways}};
  return all;
}
const Choices<DType>& code_types() {
  static const Choices<DType> all = {{"int8", DType::kInt8}, {"uint8", DType::kUint8}};
  return all;
}

/// One table of the file: values by key, each with its line; what is not asked for is unknown.
class TomlSection {
 public:
  TomlSection(const toml::table& table, std::string name) : table_(table), name_(std::move(name)) {}

  Result<std::optional<std::string>> text(const char* key) {
    const toml::node* node = find(key);
    if (node == nullptr) return std::optional<std::string>();
    if (const auto* s = node->as_string()) return std::optional(s->get());
    return wrong(*node, key, "a string");
  }
  Result<std::optional<bool>> flag(const char* key) {
    const toml::node* node = find(key);
    if (node == nullptr) return std::optional<bool>();
    if (const auto* b = node->as_boolean()) return std::optional(b->get());
    return wrong(*node, key, "true or false");
  }
  Result<std::optional<int64_t>> integer(const char* key, int64_t low, int64_t high) {
    const toml::node* node = find(key);
    if (node == nullptr) return std::optional<int64_t>();
    const auto* i = node->as_integer();
    if (i == nullptr || i->get() < low || i->get() > high)
      return wrong(*node, key, fmt::format("an integer from {} to {}", low, high));
    return std::optional(i->get());
  }
  Result<std::vector<std::string>> texts(const char* key) {
    std::vector<std::string> out;
    const toml::node* node = find(key);
    if (node == nullptr) return out;
    const toml::array* list = node->as_array();
    if (list == nullptr) return wrong(*node, key, "a list of strings");
    for (const toml::node& item : *list) {
      if (!item.is_string()) return wrong(item, key, "a list of strings");
      out.push_back(item.as_string()->get());
    }
    return out;
  }
  template <class T>
  Result<std::optional<T>> choice(const char* key, const Choices<T>& choices) {
    const std::optional<std::string> given = OCTET_TRY(text(key));
    if (!given) return std::optional<T>();
    std::vector<std::string> names;
    for (const auto& [name, value] : choices) {
      if (name == *given) return std::optional(value);
      names.push_back(name);
    }
    return error("line {}: {} is \"{}\"; use {}{}", line(*find(key)), full(key), *given,
                 join(names, ", "), suggestion(*given, names));
  }
  /// A table in this one; null: there is none.
  Result<const toml::table*> table(const char* key) {
    const toml::node* node = find(key);
    if (node == nullptr || node->is_table()) return node == nullptr ? nullptr : node->as_table();
    return wrong(*node, key, "a table");
  }
  Result<const toml::array*> tables(const char* key) {
    const toml::node* node = find(key);
    if (node == nullptr) return static_cast<const toml::array*>(nullptr);
    const toml::array* list = node->as_array();
    const bool fits = list != nullptr && std::all_of(list->begin(), list->end(),
                                                     [](const auto& n) { return n.is_table(); });
    if (!fits) return wrong(*node, key, "tables: [[" + full(key) + "]]");
    return list;
  }
  /// An error when there is a key that nobody asked for.
  Status finish() const {
    for (const auto& [key, node] : table_) {
      const std::string text(key.str());
      if (std::find(known_.begin(), known_.end(), text) == known_.end())
        return error("line {}: unknown key \"{}\"{}", line(node), full(text),
                     suggestion(text, known_));
    }
    return ok_status();
  }
  Error missing(const char* key) const {
    return error("line {}: {} is missing", line(table_), full(key));
  }

 private:
  const toml::node* find(const char* key) {
    if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.emplace_back(key);
    return table_.get(key);
  }
  std::string full(const std::string& key) const { return name_.empty() ? key : name_ + "." + key; }
  static uint32_t line(const toml::node& node) { return std::max(node.source().begin.line, 1U); }
  Error wrong(const toml::node& node, const char* key, const std::string& want) const {
    return error("line {}: {} wants {}", line(node), full(key), want);
  }

  const toml::table& table_;
  std::string name_;
  std::vector<std::string> known_;
};

class TargetReader {
 public:
  explicit TargetReader(CustomTarget& out) : out_(out) {}

  Status read(const toml::table& root) {
    TomlSection top(root, "");
    const std::optional<std::string> base = OCTET_TRY(top.text("base"));
    if (!base) return top.missing("base");
    if (is_target_file(*base)) return error("base \"{}\": wants a built-in target", *base);
    const auto known = OCTET_TRY_WITH(find_target(*base), "base");
    out_.def = *known;
    out_.placement = *known->placement;
    out_.name = OCTET_TRY(top.text("name")).value_or(out_.path);
    if (const auto opset = OCTET_TRY(top.integer("opset", 7, 1000)))
      out_.placement.max_opset = *opset;
    if (const auto* table = OCTET_TRY(top.table("activations"))) OCTET_TRY(activations(*table));
    if (const auto* table = OCTET_TRY(top.table("weights"))) OCTET_TRY(weights(*table));
    if (const auto* table = OCTET_TRY(top.table("operators"))) OCTET_TRY(operators(*table));
    OCTET_TRY(rules(OCTET_TRY(top.tables("rule")), *known->placement));
    return top.finish();
  }

 private:
  Status activations(const toml::table& table) {
    TomlSection s(table, "activations");
    Scheme& scheme = out_.placement.activation;
    out_.codes.activation = OCTET_TRY(s.choice("type", code_types()));
    scheme.type = out_.codes.activation.value_or(scheme.type);
    scheme.symmetric = OCTET_TRY(s.flag("symmetric")).value_or(scheme.symmetric);
    const auto only = OCTET_TRY(s.flag("symmetric-only"));
    out_.codes.symmetric_activations = only.value_or(false);
    out_.placement.symmetric_only = only.value_or(out_.placement.symmetric_only);
    return s.finish();
  }

  Status weights(const toml::table& table) {
    TomlSection s(table, "weights");
    Scheme& scheme = out_.placement.weight;
    const auto symmetric = OCTET_TRY(s.flag("symmetric")), narrow = OCTET_TRY(s.flag("narrow")),
               stored = OCTET_TRY(s.flag("stored"));
    out_.codes.symmetric_weights = symmetric.value_or(false);
    out_.codes.narrow_weights = narrow.value_or(false);
    out_.codes.float_weights = !stored.value_or(true);
    scheme.symmetric = symmetric.value_or(scheme.symmetric);
    scheme.narrow = narrow.value_or(scheme.narrow);
    out_.placement.stored_weights = stored.value_or(out_.placement.stored_weights);
    return s.finish();
  }

  Status operators(const toml::table& table) {
    TomlSection s(table, "operators");
    out_.allowed = OCTET_TRY(s.texts("allow"));
    out_.refused = OCTET_TRY(s.texts("refuse"));
    return s.finish();
  }

  /// The file's rules come before those of the base, which keep the other operators.
  Status rules(const toml::array* list, const Placement& base) {
    const size_t count = list == nullptr ? 0 : list->size();
    out_.texts.reserve(3 * count); // rules point into it: it must not move
    for (size_t i = 0; i < count; ++i) {
      TomlSection s(*(*list)[i].as_table(), "rule");
      const std::optional<std::string> op = OCTET_TRY(s.text("op"));
      if (!op) return s.missing("op");
      const auto treatment = OCTET_TRY(s.choice("treatment", treatments()));
      if (!treatment) return s.missing("treatment");
      PlacementRule rule{keep(*op),
                         *treatment,
                         OCTET_TRY(s.choice("output", outputs())).value_or(OutputCodes::kNever),
                         keep(out_.name),
                         {}};
      rule.why = keep(OCTET_TRY(s.text("why")).value_or("as " + out_.name + " says"));
      OCTET_TRY(s.finish());
      if (const PlacementRule* known = base.rule(rule.op)) {
        rule.on_request = known->on_request;
      }
      out_.rules.push_back(rule);
    }
    out_.rules.insert(out_.rules.end(), base.rules.begin(), base.rules.end());
    return ok_status();
  }

  std::string_view keep(std::string text) {
    out_.texts.push_back(std::move(text));
    return out_.texts.back();
  }

  CustomTarget& out_;
};

Status parse_file(const std::string& text, CustomTarget& out) {
  toml::table root;
  try {
    root = toml::parse(text);
  } catch (const toml::parse_error& e) {
    return error("line {}: {}", e.source().begin.line, std::string(e.description()));
  }
  return TargetReader(out).read(root);
}

} // namespace

bool is_target_file(std::string_view name) {
  return name.ends_with(".toml");
}

Result<std::shared_ptr<const TargetDef>> load_target(const std::string& path) {
  const std::string text = OCTET_TRY_WITH(read_file(path, kMaxTargetBytes), "target");
  const auto target = std::make_shared<CustomTarget>();
  target->path = path;
  OCTET_TRY_WITH(parse_file(text, *target), path);
  target->placement.target = target->path;
  target->placement.rules = target->rules;
  target->def.name = target->path;
  target->def.placement = &target->placement;
  target->def.custom = target.get();
  return std::shared_ptr<const TargetDef>(target, &target->def);
}

} // namespace octet
