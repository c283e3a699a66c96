// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/cosine_window.h"

#include <cmath>
#include <numbers>

#include "core/format.h"
#include "ops/shared/validate.h"

namespace octet {
namespace {

/// Windows are short; a size beyond this is a mistake.
constexpr int64_t kMostElements = int64_t{1} << 26;

Result<DType> output_type(const Node& node) {
  const int64_t code = node.attr_int("output_datatype", static_cast<int64_t>(DType::kFloat32));
  if (code < 1 || code > INT32_MAX || !is_valid(static_cast<int32_t>(code)) ||
      !kNumericTypes.has(static_cast<DType>(code)))
    return error("output_datatype is {}; it must be a numeric type of TensorProto", code);
  return static_cast<DType>(code);
}

} // namespace

Result<std::vector<OutputInfo>> infer_cosine_window(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 1, 1));
  OCTET_TRY(check_input(ctx, 0, kIndexTypes));
  OCTET_TRY(check_scalar(ctx, 0));
  const DType type = OCTET_TRY(output_type(ctx.node));
  const auto size = known_dims(ctx.input(0));
  if (!size || size->size() != 1) return one(type, unknown_dims(1));
  const Dim& n = (*size)[0];
  if (n.is_constant() && (n.value() < 0 || n.value() > kMostElements))
    return error("the size is {}; use 0 to {}", n.value(), kMostElements);
  return one(type, std::vector<Dim>{n});
}

Result<std::vector<Tensor>> eval_cosine_window(const EvalContext& ctx, const CosineTerms& terms) {
  const Shape shape = OCTET_TRY(infer_shape(infer_cosine_window, ctx));
  const int64_t size = shape[0];
  const bool periodic = ctx.node.attr_int("periodic", 1) != 0;
  const auto period = static_cast<double>(std::max<int64_t>(periodic ? size : size - 1, 1));
  std::vector<double> y(static_cast<size_t>(size));
  for (size_t n = 0; n < y.size(); ++n) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(n) / period;
    y[n] = terms.a0 - terms.a1 * std::cos(angle) + terms.a2 * std::cos(2 * angle);
  }
  const DType type = OCTET_TRY(output_type(ctx.node));
  return one(OCTET_TRY(rounded(type, shape, y)));
}

} // namespace octet
