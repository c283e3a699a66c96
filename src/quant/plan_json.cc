// SPDX-License-Identifier: Apache-2.0
// For saving and editing. An unknown key is an error: it is a misspelled one.
#include "quant/plan_json.h"

#include <charconv>
#include <cmath>
#include <initializer_list>

#include "core/format.h"
#include "core/json.h"
#include "quant/plan_json_reader.h"
#include "quant/scheme.h"
#include "quant/steps/steps_json.h"
#include <nlohmann/json.hpp>

namespace octet {

namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr int kVersionOfSteps = 2;
constexpr int64_t kMostBlock = int64_t{1} << 31;

OrderedJson means_json(const ChannelMeans& means) {
  OrderedJson values = Json::array();
  for (const float value : means.values) // the shortest number that reads back as this one
    values.push_back(std::stod(fmt::format("{}", value)));
  return {{"axis", means.axis}, {"values", std::move(values)}};
}

Result<ChannelMeans> read_means(const Json& json, const std::string& where) {
  ChannelMeans out;
  PlanReader r(json, where + ".means");
  std::vector<double> values;
  r.read("axis", out.axis);
  r.read_numbers("values", values);
  if (out.axis != 1 && out.axis != -1)
    r.fail(fmt::format("axis {}; use 1, or -1 for the last", out.axis));
  for (const double value : values) {
    out.values.push_back(static_cast<float>(value));
    if (!std::isfinite(out.values.back())) r.fail(fmt::format("{} is no f32 mean", value));
  }
  OCTET_TRY(r.finish());
  return out;
}

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
  if (t.scheme.bits != all_bits(t.scheme.type)) out["bits"] = t.scheme.bits;
  if (t.scheme.scale != DType::kFloat32) out["scale"] = std::string(name(t.scheme.scale));
  if (t.block > 0) out["block"] = t.block;
  if (t.means) out["means"] = means_json(*t.means);
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

Result<TensorPlan> read_tensor(const Json& json, size_t index) {
  TensorPlan out;
  PlanReader r(json, fmt::format("tensors[{}]", index));
  std::string type;
  r.read("value", out.value);
  r.read("type", type);
  r.read("symmetric", out.scheme.symmetric);
  r.read("narrow", out.scheme.narrow);
  r.read_optional("axis", out.axis);
  r.read("algorithm", out.algorithm);
  r.read_ranges("ranges", out.ranges);
  r.read("note", out.note);
  if (const auto parsed = parse_dtype(type))
    out.scheme.type = *parsed;
  else
    r.fail(fmt::format("unknown type \"{}\"", type));
  out.scheme.bits = all_bits(out.scheme.type);
  if (json.is_object() && json.contains("bits")) r.read("bits", out.scheme.bits);
  if (json.is_object() && json.contains("scale")) {
    std::string scale;
    r.read("scale", scale);
    const auto parsed = parse_dtype(scale);
    if (!parsed) r.fail(fmt::format("unknown type of scales \"{}\"", scale));
    out.scheme.scale = parsed.value_or(DType::kFloat32);
  }
  if (json.is_object() && json.contains("block")) r.read("block", out.block);
  if (json.is_object() && json.contains("means"))
    out.means = OCTET_TRY(read_means(*r.find("means"), fmt::format("tensors[{}]", index)));
  if (out.block < 0 || out.block > kMostBlock || (out.block > 0 && !out.axis))
    r.fail(
        fmt::format("blocks of {}; they have an axis and up to {} numbers", out.block, kMostBlock));
  if (out.ranges.empty() || (!out.axis && out.ranges.size() != 1))
    r.fail(
        fmt::format("{} ranges; one a channel with an axis, else exactly one", out.ranges.size()));
  OCTET_TRY(r.finish());
  return out;
}

Result<NodePlan> read_node(const Json& json, size_t index) {
  NodePlan out;
  PlanReader r(json, fmt::format("nodes[{}]", index));
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

OrderedJson trials_json(const std::vector<PlanTrial>& trials) {
  OrderedJson out = Json::array();
  for (const PlanTrial& trial : trials)
    out.push_back({{"what", trial.what}, {"sqnr", trial.sqnr}});
  return out;
}

Result<PlanTrial> read_trial(const Json& json, size_t index) {
  PlanTrial out;
  PlanReader r(json, fmt::format("trials[{}]", index));
  r.read("what", out.what);
  r.read("sqnr", out.sqnr);
  OCTET_TRY(r.finish());
  return out;
}

OrderedJson costly_json(const std::vector<LayerCost>& layers) {
  OrderedJson out = Json::array();
  for (const LayerCost& layer : layers)
    out.push_back({{"node", layer.node}, {"sqnr", layer.sqnr}});
  return out;
}

Result<LayerCost> read_costly(const Json& json, size_t index) {
  LayerCost out;
  PlanReader r(json, fmt::format("costly[{}]", index));
  r.read("node", out.node);
  r.read("sqnr", out.sqnr);
  OCTET_TRY(r.finish());
  return out;
}

bool read_hash(const std::string& text, uint64_t& out) {
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), out, 16);
  return status == std::errc{} && end == text.data() + text.size();
}

} // namespace

std::string plan_json(const QuantizationPlan& plan, PlanNumbers* apart) {
  OrderedJson tensor_list = OrderedJson::array();
  for (const TensorPlan& t : plan.tensors)
    tensor_list.push_back(tensor_json(t));
  OrderedJson node_list = OrderedJson::array();
  for (const NodePlan& n : plan.nodes)
    node_list.push_back(node_json(n));
  OrderedJson out = {{"octet_plan", plan.steps.empty() ? kVersion : kVersionOfSteps},
                     {"target", plan.target},
                     {"mode", std::string(name(plan.mode))},
                     {"graph", hash_text(plan.graph_hash)},
                     {"calibrator", plan.calibrator},
                     {"samples", plan.samples}};
  if (plan.one_at_a_time) out["one_at_a_time"] = true;
  if (plan.data_hash != 0) out["data"] = hash_text(plan.data_hash);
  out["tensors"] = std::move(tensor_list);
  out["nodes"] = std::move(node_list);
  if (!plan.trials.empty()) {
    out["held_back"] = plan.held_back;
    out["trials"] = trials_json(plan.trials);
  }
  if (!plan.costly.empty()) out["costly"] = costly_json(plan.costly);
  if (!plan.steps.empty()) {
    out["stepped"] = hash_text(plan.stepped_hash);
    out["steps"] = steps_json(plan.steps, apart);
  }
  return json_text(out, 1) + "\n";
}

Result<QuantizationPlan> parse_plan(std::string_view text, const OpenPlanNumbers& open) {
  const Json json = OCTET_TRY_WITH(parse_json(text), "plan");
  QuantizationPlan out;
  PlanReader r(json, "top level");
  int64_t version = kVersion;
  std::string mode_name;
  std::string hash;
  r.read("octet_plan", version);
  r.read("target", out.target);
  r.read("mode", mode_name);
  r.read("graph", hash);
  r.read("calibrator", out.calibrator);
  r.read("samples", out.samples);
  if (json.is_object() && json.contains("one_at_a_time"))
    r.read("one_at_a_time", out.one_at_a_time);
  std::string data_hash;
  if (json.is_object() && json.contains("data")) {
    r.read("data", data_hash);
    if (!read_hash(data_hash, out.data_hash))
      r.fail(fmt::format("\"data\": \"{}\" is not a hash", data_hash));
  }
  const Json* trial_list = nullptr;
  if (json.is_object() && json.contains("trials")) {
    r.read("held_back", out.held_back);
    trial_list = r.find("trials");
    if (!trial_list->is_array()) r.fail("\"trials\" is not a list");
  }
  const Json* costly_list = nullptr;
  if (json.is_object() && json.contains("costly")) {
    costly_list = r.find("costly");
    if (!costly_list->is_array()) r.fail("\"costly\" is not a list");
  }
  const Json* tensor_list = r.find("tensors");
  const Json* node_list = r.find("nodes");
  if (version != kVersion && version != kVersionOfSteps)
    r.fail(
        fmt::format("version {} is not known, only {} and {}", version, kVersion, kVersionOfSteps));
  if (!read_hash(hash, out.graph_hash))
    r.fail(fmt::format("\"graph\": \"{}\" is not a hash", hash));
  const Json* step_list = nullptr;
  if (version == kVersionOfSteps) {
    std::string stepped;
    r.read("stepped", stepped);
    step_list = r.find("steps");
    if (!read_hash(stepped, out.stepped_hash))
      r.fail(fmt::format("\"stepped\": \"{}\" is not a hash", stepped));
    if (step_list != nullptr && !step_list->is_array()) r.fail("\"steps\" is not a list");
  }
  if (tensor_list != nullptr && !tensor_list->is_array()) r.fail("\"tensors\" is not a list");
  if (node_list != nullptr && !node_list->is_array()) r.fail("\"nodes\" is not a list");
  OCTET_TRY(r.finish());
  out.mode = OCTET_TRY_WITH(parse_quant_mode(mode_name), "plan");
  for (size_t i = 0; i < tensor_list->size(); ++i)
    out.tensors.push_back(OCTET_TRY(read_tensor((*tensor_list)[i], i)));
  for (size_t i = 0; i < node_list->size(); ++i)
    out.nodes.push_back(OCTET_TRY(read_node((*node_list)[i], i)));
  for (size_t i = 0; trial_list != nullptr && i < trial_list->size(); ++i)
    out.trials.push_back(OCTET_TRY(read_trial((*trial_list)[i], i)));
  for (size_t i = 0; costly_list != nullptr && i < costly_list->size(); ++i)
    out.costly.push_back(OCTET_TRY(read_costly((*costly_list)[i], i)));
  if (step_list != nullptr) out.steps = OCTET_TRY(read_steps(*step_list, open));
  return out;
}

std::string QuantizationPlan::to_json() const {
  return plan_json(*this, nullptr);
}

Result<QuantizationPlan> QuantizationPlan::from_json(std::string_view json) {
  return parse_plan(json, []() -> Result<PlanNumbers> {
    return error("its numbers are in the .npz file beside it; read it with load_plan");
  });
}

} // namespace octet
