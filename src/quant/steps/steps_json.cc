// SPDX-License-Identifier: Apache-2.0
#include "quant/steps/steps_json.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/hash.h"
#include "core/string_util.h"
#include "quant/plan_json_reader.h"
#include "quant/steps/step.h"
#include <nlohmann/json.hpp>

namespace octet {

namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

std::string hash_of(const Tensor& tensor) {
  return fmt::format("{:016x}", hash_bytes(tensor.bytes()));
}

class Writer final : public StepMembers {
 public:
  Writer(OrderedJson& out, size_t step, PlanNumbers* apart)
      : out_(out), step_(step), apart_(apart) {}

  void text(const char* key, std::string& member) override { out_[key] = member; }
  void number(const char* key, double& member) override { out_[key] = member; }
  void whole(const char* key, int64_t& member) override { out_[key] = member; }
  void input(const char* key, InputOf& member) override { out_[key] = json(member); }
  void inputs(const char* key, std::vector<InputOf>& member) override {
    out_[key] = OrderedJson::array();
    for (const InputOf& one : member)
      out_[key].push_back(json(one));
  }
  void indices(const char* key, std::vector<int64_t>& member) override { out_[key] = member; }
  void vector(const char* key, Tensor& member) override { list(key, member); }
  void codes(const char* key, Tensor& member) override { list(key, member); }

 private:
  static OrderedJson json(const InputOf& of) { return {{"node", of.node}, {"input", of.input}}; }
  void list(const char* key, const Tensor& member) {
    if (apart_ != nullptr && member.count() > kInlineNumbers) {
      const std::string name = fmt::format("step{:03}/{}", step_, key);
      out_[key] = {{"npz", name}, {"shape", member.shape()}, {"xxh64", hash_of(member)}};
      apart_->emplace_back(name, member);
      return;
    }
    out_[key] = OrderedJson::array();
    for (int64_t i = 0; i < member.count(); ++i) {
      if (is_integer(member.type()))
        out_[key].push_back(static_cast<int64_t>(member.at(i)));
      else
        out_[key].push_back(member.at(i));
    }
  }

  OrderedJson& out_;
  size_t step_;
  PlanNumbers* apart_;
};

/// What stands apart, opened when it is asked for the first time.
class Apart {
 public:
  explicit Apart(const OpenPlanNumbers& open) : open_(open) {}

  Result<Tensor> find(const std::string& name) {
    if (!numbers_) numbers_ = OCTET_TRY(open_());
    for (const auto& [key, tensor] : *numbers_)
      if (key == name) return tensor;
    return error("there is no array \"{}\" beside the plan; keep the .npz file that was written "
                 "with it",
                 name);
  }

 private:
  const OpenPlanNumbers& open_;
  std::optional<PlanNumbers> numbers_;
};

class Members final : public StepMembers {
 public:
  Members(PlanReader& reader, Apart& apart) : reader_(reader), apart_(apart) {}

  void text(const char* key, std::string& member) override { reader_.read(key, member); }
  void number(const char* key, double& member) override { reader_.read(key, member); }
  void whole(const char* key, int64_t& member) override { reader_.read(key, member); }
  void input(const char* key, InputOf& member) override {
    if (const Json* item = reader_.find(key)) take(key, *item, member);
  }
  void inputs(const char* key, std::vector<InputOf>& member) override {
    const Json* list = reader_.find(key);
    if (list == nullptr) return;
    if (!list->is_array()) return reader_.fail(fmt::format("\"{}\" is not a list", key));
    for (const Json& item : *list)
      take(key, item, member.emplace_back());
  }
  void indices(const char* key, std::vector<int64_t>& member) override {
    reader_.read_ints(key, member);
  }
  void vector(const char* key, Tensor& member) override { list(key, member, DType::kFloat32); }
  void codes(const char* key, Tensor& member) override { list(key, member, DType::kInt8); }

 private:
  void take(const char* key, const Json& item, InputOf& member) {
    PlanReader inner(item, key);
    inner.read("node", member.node);
    inner.read("input", member.input);
    if (const Status status = inner.finish(); !status.ok()) reader_.fail(status.error().text());
  }
  void list(const char* key, Tensor& member, DType type) {
    const Json* list = reader_.find(key);
    if (list == nullptr) return;
    if (list->is_object()) {
      const Status status = take(key, *list, member, type);
      if (!status.ok()) reader_.fail(status.error().text());
      return;
    }
    if (!list->is_array()) return reader_.fail(fmt::format("\"{}\" is not a list", key));
    const bool codes = type == DType::kInt8;
    const double most = codes ? 127 : static_cast<double>(std::numeric_limits<float>::max());
    std::vector<double> values;
    values.reserve(list->size());
    for (const Json& item : *list) {
      const bool fits = codes ? item.is_number_integer() : item.is_number();
      const double value = fits ? item.get<double>() : NAN;
      if (!(value <= most && value >= (codes ? -128 : -most)))
        return reader_.fail(fmt::format("\"{}\" holds something else than {}", key,
                                        codes ? "codes of 8 bits" : "an f32 number"));
      values.push_back(value);
    }
    auto made = Tensor::from_doubles(type, {static_cast<int64_t>(values.size())}, values);
    if (!made.ok()) return reader_.fail(made.error().text());
    member = std::move(*made);
  }
  /// A list that stands apart.
  Status take(const char* key, const Json& item, Tensor& member, DType type) const {
    PlanReader inner(item, key);
    std::string name, hash;
    Shape shape;
    inner.read("npz", name);
    inner.read_ints("shape", shape);
    inner.read("xxh64", hash);
    OCTET_TRY(inner.finish());
    const Tensor array = OCTET_TRY_WITH(apart_.find(name), fmt::format("\"{}\"", key));
    if (array.type() != type || array.rank() != 1 || array.shape() != shape)
      return error("\"{}\": array \"{}\" is {}{}, {}{} expected", key, name,
                   octet::name(array.type()), to_string(array.shape()), octet::name(type),
                   to_string(shape));
    if (hash_of(array) != hash)
      return error("\"{}\": array \"{}\" has the hash {}, not {}: it is of another plan", key, name,
                   hash_of(array), hash);
    for (const float value : OCTET_TRY(array.to_floats()))
      if (!std::isfinite(value)) return error("\"{}\": array \"{}\" holds {}", key, name, value);
    member = array;
    return ok_status();
  }

  PlanReader& reader_;
  Apart& apart_;
};

Result<PlanStep> read_step(const Json& json, size_t index, Apart& apart) {
  PlanReader r(json, fmt::format("steps[{}]", index));
  std::string kind, stage_name;
  PlanStep out;
  r.read("id", out.id);
  r.read("kind", kind);
  r.read("stage", stage_name);
  r.read("why", out.why);
  r.read_texts("needs", out.needs);
  r.read("before", out.before);
  r.read("after", out.after);
  const auto algorithms = step_algorithms();
  const auto found = std::find_if(algorithms.begin(), algorithms.end(),
                                  [&](const StepAlgorithm& a) { return a.name == kind; });
  if (found == algorithms.end())
    return error("plan: steps[{}]: unknown kind \"{}\"; there are {}", index, kind,
                 join(step_names(), ", "));
  if (name(found->stage) != stage_name)
    r.fail(fmt::format("{} is of the stage {}, not \"{}\"", kind, name(found->stage), stage_name));
  out.kind = found->empty();
  Members to(r, apart);
  std::visit([&](auto& step) { members(step, to); }, out.kind);
  OCTET_TRY(r.finish());
  return out;
}

} // namespace

OrderedJson steps_json(std::span<const PlanStep> steps, PlanNumbers* apart) {
  OrderedJson out = OrderedJson::array();
  for (size_t i = 0; i < steps.size(); ++i) {
    const PlanStep& step = steps[i];
    OrderedJson json = {{"id", step.id},
                        {"kind", std::string(name(step.kind))},
                        {"stage", std::string(name(stage(step.kind)))},
                        {"why", step.why},
                        {"needs", step.needs},
                        {"before", step.before},
                        {"after", step.after}};
    StepKind kind = step.kind;
    Writer to(json, i, apart);
    std::visit([&](auto& one) { members(one, to); }, kind);
    out.push_back(std::move(json));
  }
  return out;
}

Result<std::vector<PlanStep>> read_steps(const Json& list, const OpenPlanNumbers& open) {
  Apart apart(open);
  std::vector<PlanStep> out;
  for (size_t i = 0; i < list.size(); ++i)
    out.push_back(OCTET_TRY(read_step(list[i], i, apart)));
  OCTET_TRY_WITH(check_steps(out), "plan");
  return out;
}

} // namespace octet
