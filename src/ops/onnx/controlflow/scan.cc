// SPDX-License-Identifier: Apache-2.0
// Scan (opset 9). Runs the body for every element of the scanned inputs: (state..., element...) ->
// (state..., collected...). The outputs are the last states and the collected values side by side,
// along the axes and in the directions that the attributes name.
#include "core/format.h"
#include "ops/shared/bodies.h"
#include "ops/shared/slices.h"

namespace octet::onnx::op_Scan {
namespace {

struct ScanAttrs {
  size_t states = 0;
  std::vector<int64_t> in_axes, out_axes; ///< one for each scanned input, collected output
  std::vector<bool> in_reverse, out_reverse;
};

std::vector<bool> flags(const Node& node, const char* attribute, size_t count) {
  std::vector<bool> out(count, false);
  const auto given = node.attr_ints(attribute);
  for (size_t i = 0; i < count && i < given.size(); ++i)
    out[i] = given[i] != 0;
  return out;
}

Result<ScanAttrs> parse(const Node& node, const Graph& body) {
  const int64_t scanned = node.attr_int("num_scan_inputs", 0);
  const auto inputs = static_cast<int64_t>(node.inputs.size());
  if (scanned < 1 || scanned > inputs)
    return error("num_scan_inputs is {} for {} inputs; use 1 to that many", scanned, inputs);
  ScanAttrs a{.states = static_cast<size_t>(inputs - scanned),
              .in_axes = node.attr_ints("scan_input_axes"),
              .out_axes = node.attr_ints("scan_output_axes"),
              .in_reverse = {},
              .out_reverse = {}};
  if (body.outputs().size() < a.states)
    return error("the body has {} outputs for {} states; give each", body.outputs().size(),
                 a.states);
  const size_t collected = body.outputs().size() - a.states;
  a.in_axes.resize(static_cast<size_t>(scanned), 0);
  a.out_axes.resize(collected, 0);
  a.in_reverse = flags(node, "scan_input_directions", static_cast<size_t>(scanned));
  a.out_reverse = flags(node, "scan_output_directions", collected);
  return a;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  if (ctx.version < 9)
    return error(ErrorCode::kUnsupported,
                 "Scan of opset {} works on batches; octet runs opset 9 and newer", ctx.version);
  const GraphPtr body = OCTET_TRY(body_of(ctx.node, "body"));
  ScanAttrs a = OCTET_TRY(parse(ctx.node, *body));
  std::vector<TypeInfo> types;
  Dim count;
  for (size_t i = 0; i < ctx.inputs.size(); ++i) {
    OCTET_TRY(check_present(ctx, i));
    TypeInfo t = ctx.input(i).type;
    if (i >= a.states && t.has_rank()) {
      const int64_t axis = OCTET_TRY(normalize_axis(a.in_axes[i - a.states], t.rank()));
      const Dim length = (*t.shape)[static_cast<size_t>(axis)];
      if (count.is_constant() && length.is_constant() && count.value() != length.value())
        return error("scanned inputs have {} and {} elements; they must agree", count.value(),
                     length.value());
      count = length;
      t.shape->erase(t.shape->begin() + axis);
    }
    types.push_back(std::move(t));
  }
  const auto out = OCTET_TRY(infer_body(ctx, *body, types));
  std::vector<OutputInfo> outputs;
  for (size_t i = 0; i < out.size(); ++i) {
    if (i < a.states) {
      outputs.emplace_back(either(out[i], ctx.input(i).type));
      continue;
    }
    int64_t axis = 0;
    if (out[i].has_rank())
      axis = OCTET_TRY(normalize_axis(a.out_axes[i - a.states], out[i].rank() + 1));
    outputs.emplace_back(stacked(out[i], count, axis));
  }
  return outputs;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  OCTET_TRY(infer_values(infer, ctx));
  const GraphPtr body = OCTET_TRY(body_of(ctx.node, "body"));
  const ScanAttrs a = OCTET_TRY(parse(ctx.node, *body));
  std::vector<Slices> scanned;
  for (size_t k = 0; k < a.in_axes.size(); ++k) {
    const Tensor& x = ctx.inputs[a.states + k];
    scanned.emplace_back(x, OCTET_TRY(normalize_axis(a.in_axes[k], x.rank())));
  }
  const int64_t count = scanned[0].count();
  std::vector<Collected> collected;
  for (size_t k = 0; k < a.out_axes.size(); ++k)
    collected.emplace_back(a.out_axes[k], count,
                           a.out_reverse[k] ? CollectOrder::kBackward : CollectOrder::kForward);
  std::vector<Tensor> values = ctx.inputs; // the states, then what is scanned
  for (int64_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < scanned.size(); ++k) {
      Tensor& element = values[a.states + k];
      element = Tensor(); // gives its memory back before the next one is made
      element = OCTET_TRY(scanned[k].at(a.in_reverse[k] ? count - 1 - i : i));
    }
    auto out = OCTET_TRY(run_body(ctx, *body, values));
    for (size_t k = 0; k < out.size(); ++k) {
      if (k < a.states)
        values[k] = std::move(out[k]);
      else
        OCTET_TRY(collected[k - a.states].add(out[k]));
    }
  }
  values.resize(a.states);
  for (size_t k = 0; k < collected.size(); ++k)
    values.push_back(
        OCTET_TRY(collected[k].finish(body->value(body->outputs()[k + a.states]).type)));
  return values;
}

} // namespace

extern const OpFacets facets = {
    .since = 9,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Scan
