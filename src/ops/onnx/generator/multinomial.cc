// SPDX-License-Identifier: Apache-2.0
// Multinomial (opset 7 to 22). x: [B, C] logarithms of what the C outcomes of a row are as likely
// as; y: [B, sample_size]: outcomes that were drawn, i32 or i64.
#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "ops/shared/random.h"

namespace octet::onnx::op_Multinomial {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 1, 1));
  OCTET_TRY(check_input(ctx, 0, kFloatTypes));
  OCTET_TRY(check_rank(ctx, 0, 2, 2));
  const int64_t samples = ctx.node.attr_int("sample_size", 1);
  if (samples < 1) return error("sample_size is {}; give a positive number", samples);
  const TypeInfo& x = ctx.input(0).type;
  const DType type = OCTET_TRY(drawn_type(ctx.node, DType::kInt32, kIndexTypes));
  return one(type, std::vector<Dim>{x.has_rank() ? (*x.shape)[0] : Dim::unknown(), Dim(samples)});
}

/// Running sums of what is proportional to the probabilities.
Result<std::vector<double>> sums_of(std::span<const double> row) {
  const double most = *std::max_element(row.begin(), row.end());
  std::vector<double> out;
  double sum = 0;
  for (const double v : row)
    out.push_back(sum += std::exp(v - most));
  if (!(sum > 0) || std::isinf(sum))
    return Error("a row gives no outcome a probability; give finite numbers");
  return out;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const auto outputs = OCTET_TRY(infer_values(infer, ctx));
  const Tensor& x = ctx.inputs[0];
  const auto values = OCTET_TRY(x.to_doubles());
  const auto classes = static_cast<size_t>(x.dim(1));
  if (classes == 0) return Error("no outcome to draw; give at least one column");
  const Shape shape = OCTET_TRY(shape_of(outputs[0]));
  Philox generator = generator_of(ctx);
  std::vector<double> y;
  for (size_t at = 0; at < values.size(); at += classes) {
    const auto sums = OCTET_TRY(sums_of(std::span(values).subspan(at, classes)));
    for (int64_t s = 0; s < shape[1]; ++s) {
      const double drawn = generator.uniform() * sums.back();
      const auto found = std::upper_bound(sums.begin(), sums.end() - 1, drawn);
      y.push_back(static_cast<double>(found - sums.begin()));
    }
  }
  return one(OCTET_TRY(rounded(outputs[0].type.type, shape, y)));
}

} // namespace

extern const OpFacets facets = {
    .since = 7,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = no_real_output,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.random = true, .unchanged = true},
};

} // namespace octet::onnx::op_Multinomial
