// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "ops/quant_layout.h"
#include "quant/apply.h"
#include "targets/checks.h"
#include "targets/forms/forms.h"

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
  if (clamp.is("Relu")) return unsaturated_code(0, s, z) <= range->lo;
  const auto bound = [&](size_t input, bool low) {
    if (!clamp.input(input).valid()) return true;
    const Tensor* t = graph.constant(clamp.input(input));
    if (t == nullptr || t->count() != 1) return false;
    const double code = unsaturated_code(t->at(0), s, z);
    return low ? code <= range->lo : code >= range->hi;
  };
  return clamp.is("Clip") && bound(1, true) && bound(2, false);
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

BiasCodes bias_codes(
    Patch& patch, const Graph& graph, const Node& node, const CodedValue& x, const CodedValue& w) {
  if (!node.input(2).valid()) return {};
  const float x_scale = static_cast<float>(x.scales->at(0));
  std::vector<float> w_scales;
  for (int64_t i = 0; i < w.scales->count(); ++i)
    w_scales.push_back(static_cast<float>(w.scales->at(i)));
  if (const auto stored = coded_value(graph, node.input(2))) {
    const Tensor& scales = *stored->scales;
    if (stored->type != DType::kInt32 || node.attr_float("beta", 1) != 1 ||
        scales.count() != w.scales->count())
      return {.ok = false, .codes = {}};
    for (int64_t i = 0; i < scales.count(); ++i) {
      const double want = x.scales->at(0) * w.scales->at(i);
      if (std::abs(scales.at(i) - want) > 1e-6 * want) return {.ok = false, .codes = {}};
    }
    return {.ok = true, .codes = stored->codes};
  }
  const auto bias = int32_bias(graph, node, x_scale, w_scales);
  if (!bias) return {.ok = false, .codes = {}};
  const Tensor codes = Tensor::of<int32_t>({static_cast<int64_t>(bias->codes.size())},
                                           std::span<const int32_t>(bias->codes));
  return {.ok = true, .codes = patch.constant(graph.value(node.input(2)).name + "_codes", codes)};
}

} // namespace octet
