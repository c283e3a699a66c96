// SPDX-License-Identifier: Apache-2.0
// Plans as JSON, for saving and editing. An unknown key is an error: it is a misspelled one.
#include <algorithm>
#include <charconv>
#include <initializer_list>

#include "core/format.h"
#include "core/json.h"
#include <nlohmann/json.hpp>

#include "octet/quantize.h"

namespace octet {

namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

constexpr int kVersion = 1;

OrderedJson tensor_json(const TensorPlan& t) {
  OrderedJson ranges = Json::array();
  for (const Range& r : t.ranges)
    ranges.push_back({r.lo, r.hi});
  OrderedJson out = {{"value", t.value},
                     {"type", std::string(name(t.scheme.type))},
                     {"symmetric", t.scheme.symmetric},
                     {"narrow", t.scheme.narrow},
                     {"axis", nullptr},
                     {"algorithm", t.algorithm},
                     {"ranges", std::move(ranges)},
                     {"note", t.note}};
  if (t.axis) out["axis"] = *t.axis;
  if (t.scheme.bits != 8) out["bits"] = t.scheme.bits;
  return out;
}

OrderedJson node_json(const NodePlan& n) {
  OrderedJson out = {{"node", n.node},
                     {"op", n.op},
                     {"quantized", n.quantized},
                     {"inputs", n.inputs},
                     {"weight", nullptr},
                     {"output", n.output},
                     {"int32_bias", n.int32_bias},
                     {"rule", std::string(name(n.rule))},
                     {"why", n.why},
                     {"clause", n.clause}};
  if (n.weight) out["weight"] = *n.weight;
  return out;
}

/// Reads typed members of one object; remembers the first thing that does not fit.
class Reader {
 public:
  Reader(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json_.is_object()) fail("expected an object");
  }

  template <class T>
  void read(const char* key, T& out) {
    const Json* item = find(key);
    if (item == nullptr) return;
    if constexpr (std::is_same_v<T, bool>) {
      if (!item->is_boolean()) return fail(fmt::format("\"{}\" is not true or false", key));
    } else if constexpr (std::is_integral_v<T>) {
      if (!item->is_number_integer()) return fail(fmt::format("\"{}\" is not an integer", key));
    } else {
      if (!item->is_string()) return fail(fmt::format("\"{}\" is not a string", key));
    }
    out = item->get<T>();
  }
  void read_optional(const char* key, std::optional<int64_t>& out) {
    const Json* item = find(key);
    if (item == nullptr || item->is_null()) return;
    if (!item->is_number_integer()) return fail(fmt::format("\"{}\" is not an integer", key));
    out = item->get<int64_t>();
  }
  void read_ints(const char* key, std::vector<int64_t>& out) {
    const Json* item = find(key);
    if (item == nullptr) return;
    if (!item->is_array()) return fail(fmt::format("\"{}\" is not a list", key));
    for (const Json& value : *item) {
      if (!value.is_number_integer()) return fail(fmt::format("\"{}\" holds no integer", key));
      out.push_back(value.get<int64_t>());
    }
  }
  void read_ranges(const char* key, std::vector<Range>& out) {
    const Json* item = find(key);
    if (item == nullptr) return;
    if (!item->is_array()) return fail(fmt::format("\"{}\" is not a list", key));
    for (const Json& r : *item) {
      if (!r.is_array() || r.size() != 2 || !r[0].is_number() || !r[1].is_number())
        return fail(fmt::format("\"{}\": a range is [lo, hi]", key));
      out.push_back({r[0].get<double>(), r[1].get<double>()});
      if (!(out.back().lo <= out.back().hi))
        return fail(
            fmt::format("\"{}\": the range [{}, {}] is empty", key, out.back().lo, out.back().hi));
    }
  }
  const Json* find(const char* key) {
    known_.emplace_back(key);
    if (!json_.is_object()) return nullptr;
    const auto found = json_.find(key);
    if (found == json_.end()) {
      fail(fmt::format("\"{}\" is missing", key));
      return nullptr;
    }
    return &*found;
  }
  void fail(std::string message) {
    if (message_.empty()) message_ = std::move(message);
  }
  Status finish() {
    if (message_.empty() && json_.is_object())
      for (const auto& item : json_.items())
        if (std::find(known_.begin(), known_.end(), item.key()) == known_.end())
          fail(fmt::format("unknown key \"{}\"", item.key()));
    if (message_.empty()) return ok_status();
    return error("plan: {}: {}", where_, message_);
  }

 private:
  const Json& json_;
  std::string where_;
  std::vector<std::string> known_;
  std::string message_;
};

Result<TensorPlan> read_tensor(const Json& json, size_t index) {
  TensorPlan out;
  Reader r(json, fmt::format("tensors[{}]", index));
  std::string type;
  r.read("value", out.value);
  r.read("type", type);
  r.read("symmetric", out.scheme.symmetric);
  r.read("narrow", out.scheme.narrow);
  r.read_optional("axis", out.axis);
  r.read("algorithm", out.algorithm);
  r.read_ranges("ranges", out.ranges);
  r.read("note", out.note);
  if (json.is_object() && json.contains("bits")) r.read("bits", out.scheme.bits);
  if (const auto parsed = parse_dtype(type))
    out.scheme.type = *parsed;
  else
    r.fail(fmt::format("unknown type \"{}\"", type));
  if (out.ranges.empty() || (!out.axis && out.ranges.size() != 1))
    r.fail(
        fmt::format("{} ranges; one a channel with an axis, else exactly one", out.ranges.size()));
  OCTET_TRY(r.finish());
  return out;
}

Result<NodePlan> read_node(const Json& json, size_t index) {
  NodePlan out;
  Reader r(json, fmt::format("nodes[{}]", index));
  r.read("node", out.node);
  r.read("op", out.op);
  r.read("quantized", out.quantized);
  r.read_ints("inputs", out.inputs);
  r.read_optional("weight", out.weight);
  r.read("output", out.output);
  r.read("int32_bias", out.int32_bias);
  std::string rule;
  r.read("rule", rule);
  r.read("why", out.why);
  r.read("clause", out.clause);
  if (const auto parsed = parse_placed(rule); parsed.ok())
    out.rule = *parsed;
  else
    r.fail(parsed.error().text());
  OCTET_TRY(r.finish());
  return out;
}

} // namespace

std::string QuantizationPlan::to_json() const {
  OrderedJson tensor_list = OrderedJson::array();
  for (const TensorPlan& t : tensors)
    tensor_list.push_back(tensor_json(t));
  OrderedJson node_list = OrderedJson::array();
  for (const NodePlan& n : nodes)
    node_list.push_back(node_json(n));
  const OrderedJson out = {{"octet_plan", kVersion},
                           {"target", target},
                           {"mode", std::string(name(mode))},
                           {"graph", fmt::format("{:016x}", graph_hash)},
                           {"calibrator", calibrator},
                           {"samples", samples},
                           {"tensors", std::move(tensor_list)},
                           {"nodes", std::move(node_list)}};
  return json_text(out, 1) + "\n";
}

Result<QuantizationPlan> QuantizationPlan::from_json(std::string_view text) {
  const Json json = OCTET_TRY_WITH(parse_json(text), "plan");
  QuantizationPlan out;
  Reader r(json, "top level");
  int64_t version = kVersion;
  std::string mode_name;
  std::string hash;
  r.read("octet_plan", version);
  r.read("target", out.target);
  r.read("mode", mode_name);
  r.read("graph", hash);
  r.read("calibrator", out.calibrator);
  r.read("samples", out.samples);
  const Json* tensor_list = r.find("tensors");
  const Json* node_list = r.find("nodes");
  if (version != kVersion)
    r.fail(fmt::format("version {} is not known, only {}", version, kVersion));
  const auto [end, status] =
      std::from_chars(hash.data(), hash.data() + hash.size(), out.graph_hash, 16);
  if (status != std::errc{} || end != hash.data() + hash.size())
    r.fail(fmt::format("\"graph\": \"{}\" is not a hash", hash));
  if (tensor_list != nullptr && !tensor_list->is_array()) r.fail("\"tensors\" is not a list");
  if (node_list != nullptr && !node_list->is_array()) r.fail("\"nodes\" is not a list");
  OCTET_TRY(r.finish());
  out.mode = OCTET_TRY_WITH(parse_quant_mode(mode_name), "plan");
  for (size_t i = 0; i < tensor_list->size(); ++i)
    out.tensors.push_back(OCTET_TRY(read_tensor((*tensor_list)[i], i)));
  for (size_t i = 0; i < node_list->size(); ++i)
    out.nodes.push_back(OCTET_TRY(read_node((*node_list)[i], i)));
  return out;
}

} // namespace octet
