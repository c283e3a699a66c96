// SPDX-License-Identifier: Apache-2.0
// QLinearGlobalAveragePool (com.microsoft 1). Codes of the average of each plane; x is [N, C,
// D...], or [N, D..., C] with channels_last.
#include "core/format.h"
#include "ops/microsoft/codes.h"

namespace octet::ms::op_QLinearGlobalAveragePool {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  auto outputs = OCTET_TRY(ms::infer_unary_codes(ctx));
  auto& shape = outputs[0].type.shape;
  if (!shape) return outputs;
  if (shape->size() < 3) return error("x is {}; it has spatial axes", ctx.input(0).type.text());
  const bool last = ctx.node.attr_int("channels_last", 0) != 0;
  for (size_t i = 1; i < shape->size(); ++i)
    if (last ? i + 1 < shape->size() : i > 1) (*shape)[i] = 1;
  return outputs;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const auto outputs = OCTET_TRY(infer_values(infer, ctx));
  const Shape shape = OCTET_TRY(shape_of(outputs[0]));
  const Shape& in = ctx.inputs[0].shape();
  const auto x = OCTET_TRY(ms::read_codes(ctx, 0));
  const bool last = ctx.node.attr_int("channels_last", 0) != 0;
  const int64_t batch = in[0], channels = last ? in.back() : in[1];
  const int64_t pixels = last ? product(in, 1, in.size() - 1) : product(in, 2, in.size());
  std::vector<double> y(static_cast<size_t>(batch * channels));
  for (int64_t n = 0; n < batch; ++n)
    for (int64_t c = 0; c < channels; ++c) {
      double sum = 0;
      for (int64_t p = 0; p < pixels; ++p)
        sum += x[static_cast<size_t>(last ? (n * pixels + p) * channels + c
                                          : (n * channels + c) * pixels + p)];
      y[static_cast<size_t>(n * channels + c)] = sum / static_cast<double>(pixels);
    }
  return one(OCTET_TRY(ms::write_codes(ctx, 3, outputs[0].type.type, shape, y)));
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = is_quantized_already,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.on_codes = true},
};

} // namespace octet::ms::op_QLinearGlobalAveragePool
