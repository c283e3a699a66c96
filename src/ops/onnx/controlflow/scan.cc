// SPDX-License-Identifier: Apache-2.0
// Scan (opset 9). Runs the body for every element of the scanned inputs: (state..., element...) ->
// (state..., collected...). The outputs are the last states and the collected values side by side,
// along the axes and in the directions that the attributes name.
#include "core/format.h"
#include "ops/shared/bodies.h"

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
  const Tensor& first = ctx.inputs[a.states];
  const int64_t count = first.dim(OCTET_TRY(normalize_axis(a.in_axes[0], first.rank())));
  std::vector<Tensor> values(ctx.inputs.begin(),
                             ctx.inputs.begin() + static_cast<int64_t>(a.states));
  std::vector<std::vector<Tensor>> collected(a.out_axes.size());
  for (int64_t i = 0; i < count; ++i) {
    std::vector<Tensor> in = values;
    for (size_t k = 0; k < a.in_axes.size(); ++k) {
      const Tensor& x = ctx.inputs[a.states + k];
      const int64_t axis = OCTET_TRY(normalize_axis(a.in_axes[k], x.rank()));
      in.push_back(OCTET_TRY(element(x, axis, a.in_reverse[k] ? count - 1 - i : i)));
    }
    const auto out = OCTET_TRY(run_body(ctx, *body, in));
    for (size_t k = 0; k < out.size(); ++k) {
      if (k < a.states) {
        values[k] = out[k];
        continue;
      }
      auto& list = collected[k - a.states];
      list.insert(a.out_reverse[k - a.states] ? list.begin() : list.end(), out[k]);
    }
  }
  for (size_t k = 0; k < collected.size(); ++k) {
    const TypeInfo& type = body->value(body->outputs()[k + a.states]).type;
    const int64_t rank = collected[k].empty() ? 0 : collected[k][0].rank();
    const int64_t axis = OCTET_TRY(normalize_axis(a.out_axes[k], rank + 1));
    values.push_back(OCTET_TRY(stack(collected[k], type, axis)));
  }
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
