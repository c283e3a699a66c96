// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "ops/quant_layout.h"
#include "passes/bias_codes.h"
#include "passes/evaluate.h"
#include "passes/match.h"
#include "quant/apply.h"
#include "targets/checks.h"
#include "targets/forms/forms.h"
#include "targets/repair/unsigned_codes.h"

namespace octet {

namespace {

/// The code of x with the rounding of QuantizeLinear, before it saturates.
double unsaturated_code(double x, float scale, double zero) {
  return std::nearbyint(static_cast<double>(static_cast<float>(x) / scale)) + zero;
}

/// Q(clamp(x)) is Q(x) for every x exactly when the clamp's bounds fall on Q's last codes.
bool does_work_of(const Graph& graph, const Node& quantize, const Node& clamp) {
  const Tensor* scale = graph.constant(quantize.input(1));
  const Tensor* zero = graph.constant(quantize.input(2));
  const auto range = code_range(zero->type());
  if (!range || scale->count() != 1) return false;
  const float s = static_cast<float>(scale->at(0));
  const double z = zero->at(0);
  const auto bounds = clamp_bounds(graph, clamp);
  return bounds && unsaturated_code(bounds->lo, s, z) <= range->lo &&
         unsaturated_code(bounds->hi, s, z) >= range->hi;
}

bool has_parameters(const Graph& graph, const Node& node) {
  const Tensor* scale = graph.constant(node.input(1));
  const Tensor* zero = graph.constant(node.input(2));
  return scale != nullptr && zero != nullptr && scale->type() == DType::kFloat32 &&
         scale->rank() <= 1 && zero->count() == scale->count() && scale->count() > 0 &&
         node.attr_int("block_size", 0) == 0;
}

} // namespace

std::optional<CodedValue> coded_value(const Graph& graph, ValueId value) {
  const Node* dq = value.valid() ? graph.producer(value) : nullptr;
  if (dq == nullptr || !is_dequantize(*dq) || !has_parameters(graph, *dq)) return std::nullopt;
  CodedValue out;
  out.codes = dq->input(0);
  out.scale = dq->input(1);
  out.zero = dq->input(2);
  out.scales = graph.constant(out.scale);
  out.type = graph.constant(out.zero)->type();
  if (out.scales->count() == 1) return out;
  const TypeInfo& type = graph.value(out.codes).type;
  if (!type.has_rank()) return std::nullopt;
  const int64_t axis = dq->attr_int("axis", 1);
  out.axis = axis < 0 ? axis + type.rank() : axis;
  return out;
}

std::optional<CodedOutput> coded_output(const RuleContext& context, ValueId value) {
  const Graph& g = context.graph;
  const auto reader = [&](ValueId id) -> const Node* {
    const NodeId next = context.uses.single_consumer(id);
    return next.valid() ? &g.node(next) : nullptr;
  };
  CodedOutput out;
  const Node* next = reader(value);
  if (next != nullptr && (next->is("Relu") || next->is("Clip"))) {
    out.clamp = next;
    next = reader(next->output(0));
  }
  if (next == nullptr || !is_quantize(*next) || !has_parameters(g, *next)) return std::nullopt;
  if (g.constant(next->input(1))->count() != 1) return std::nullopt;
  if (out.clamp != nullptr && !does_work_of(g, *next, *out.clamp)) return std::nullopt;
  out.quantize = next;
  out.scale = next->input(1);
  out.zero = next->input(2);
  out.type = g.constant(out.zero)->type();
  return out;
}

std::optional<Patch> unsigned_layer(const RuleContext& context,
                                    std::span<const CodedValue> inputs,
                                    const std::optional<CodedOutput>& output) {
  const auto unsigned_by = [&](const Node* quantize) -> std::optional<Patch> {
    if (quantize == nullptr || !is_quantize(*quantize)) return std::nullopt;
    return unsigned_codes(context.graph, *quantize, context.uses.of(quantize->output(0)));
  };
  for (const CodedValue& in : inputs)
    if (in.type == DType::kInt8)
      if (auto patch = unsigned_by(context.graph.producer(in.codes))) return patch;
  return output ? unsigned_by(output->quantize) : std::nullopt;
}

BiasCodes bias_codes(
    Patch& patch, const Graph& graph, const Node& node, const CodedValue& x, const CodedValue& w) {
  const ValueId bias = node.input(2);
  if (!bias.valid()) return {};
  constexpr BiasCodes kNone{.ok = false, .codes = {}};
  const double alpha = node.attr_float("alpha", 1), beta = node.attr_float("beta", 1);
  const std::string name = graph.value(bias).name + "_codes";
  if (const Node* dq = graph.producer(bias)) {
    const auto steps = sum_steps(x.scales->at(0), w.scales->to_doubles().value(), alpha / beta);
    const auto counted =
        bias_in_steps(graph, bias, steps, [&](ValueId id) { return constant_value(graph, id); });
    const auto codes = counted ? counted->codes() : std::nullopt;
    if (!codes) return kNone;
    const Tensor* stored = graph.constant(dq->input(0));
    const bool stays = stored != nullptr && stored->identical(*codes);
    return {.ok = true, .codes = stays ? dq->input(0) : patch.constant(name, *codes)};
  }
  std::vector<float> w_scales;
  for (int64_t i = 0; i < w.scales->count(); ++i)
    w_scales.push_back(static_cast<float>(w.scales->at(i)));
  const auto scale = static_cast<float>(alpha * x.scales->at(0));
  const auto rounded = int32_bias(graph, node, scale, w_scales);
  if (!rounded) return kNone;
  const Tensor codes = Tensor::of<int32_t>({static_cast<int64_t>(rounded->codes.size())},
                                           std::span<const int32_t>(rounded->codes));
  return {.ok = true, .codes = patch.constant(name, codes)};
}

} // namespace octet
