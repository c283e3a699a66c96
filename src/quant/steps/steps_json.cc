// SPDX-License-Identifier: Apache-2.0
#include "quant/steps/steps_json.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/string_util.h"
#include "quant/plan_json_reader.h"
#include "quant/steps/step.h"
#include <nlohmann/json.hpp>

namespace octet {

namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

class Writer final : public StepMembers {
 public:
  explicit Writer(OrderedJson& out) : out_(out) {}

  void text(const char* key, std::string& member) override { out_[key] = member; }
  void number(const char* key, double& member) override { out_[key] = member; }
  void input(const char* key, InputOf& member) override { out_[key] = json(member); }
  void inputs(const char* key, std::vector<InputOf>& member) override {
    out_[key] = OrderedJson::array();
    for (const InputOf& one : member)
      out_[key].push_back(json(one));
  }
  void vector(const char* key, Tensor& member) override {
    out_[key] = OrderedJson::array();
    for (int64_t i = 0; i < member.count(); ++i)
      out_[key].push_back(member.at(i));
  }

 private:
  static OrderedJson json(const InputOf& of) { return {{"node", of.node}, {"input", of.input}}; }
  OrderedJson& out_;
};

class Members final : public StepMembers {
 public:
  explicit Members(PlanReader& reader) : reader_(reader) {}

  void text(const char* key, std::string& member) override { reader_.read(key, member); }
  void number(const char* key, double& member) override { reader_.read(key, member); }
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
  void vector(const char* key, Tensor& member) override {
    const Json* list = reader_.find(key);
    if (list == nullptr) return;
    if (!list->is_array()) return reader_.fail(fmt::format("\"{}\" is not a list", key));
    std::vector<float> values;
    for (const Json& item : *list) {
      const double value = item.is_number() ? item.get<double>() : NAN;
      if (!(std::fabs(value) <= static_cast<double>(std::numeric_limits<float>::max())))
        return reader_.fail(fmt::format("\"{}\" holds something else than an f32 number", key));
      values.push_back(static_cast<float>(value));
    }
    member =
        Tensor::of<float>({static_cast<int64_t>(values.size())}, std::span<const float>(values));
  }

 private:
  void take(const char* key, const Json& item, InputOf& member) {
    PlanReader inner(item, key);
    inner.read("node", member.node);
    inner.read("input", member.input);
    if (const Status status = inner.finish(); !status.ok()) reader_.fail(status.error().text());
  }
  PlanReader& reader_;
};

Result<PlanStep> read_step(const Json& json, size_t index) {
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
  Members to(r);
  std::visit([&](auto& step) { members(step, to); }, out.kind);
  OCTET_TRY(r.finish());
  return out;
}

} // namespace

OrderedJson steps_json(std::span<const PlanStep> steps) {
  OrderedJson out = OrderedJson::array();
  for (const PlanStep& step : steps) {
    OrderedJson json = {{"id", step.id},
                        {"kind", std::string(name(step.kind))},
                        {"stage", std::string(name(stage(step.kind)))},
                        {"why", step.why},
                        {"needs", step.needs},
                        {"before", step.before},
                        {"after", step.after}};
    StepKind kind = step.kind;
    Writer to(json);
    std::visit([&](auto& one) { members(one, to); }, kind);
    out.push_back(std::move(json));
  }
  return out;
}

Result<std::vector<PlanStep>> read_steps(const Json& list) {
  std::vector<PlanStep> out;
  for (size_t i = 0; i < list.size(); ++i)
    out.push_back(OCTET_TRY(read_step(list[i], i)));
  OCTET_TRY_WITH(check_steps(out), "plan");
  return out;
}

} // namespace octet
