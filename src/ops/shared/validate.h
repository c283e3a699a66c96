// SPDX-License-Identifier: Apache-2.0
// Checks of ranks and dimensions, and short cuts for evaluation, that larger operators share.
#pragma once

#include "ops/shared/types.h"

namespace octet {

/// As check_input, for an input that may be omitted.
Status check_optional(const InferContext& ctx, size_t i, TypeSet allowed);
/// Input `i` has a rank in [least, most], or none that is known, or is omitted.
Status check_rank(const InferContext& ctx, size_t i, int64_t least, int64_t most);
/// The dim that both must be. Errors: two constants that differ; `what` starts the message.
Result<Dim> merge_dims(const Dim& a, const Dim& b, std::string_view what);
/// Input `i` is a vector of `size` elements, as far as is known, or omitted.
Status check_vector(const InferContext& ctx, size_t i, const Dim& size, std::string_view what);

/// After `infer` on the values at hand: a tensor of zeros for the first output.
Result<Tensor> zeros_as_inferred(InferFn* infer, const EvalContext& ctx);
/// The static shape of an inferred output; an error when it depends on more than the values.
Result<Shape> shape_of(const OutputInfo& output);
/// Doubles rounded once into a tensor of this type.
inline Result<Tensor> rounded(DType type, Shape shape, std::span<const double> values) {
  return Tensor::from_doubles(type, std::move(shape), values);
}

/// Product of shape[begin, end).
int64_t product(std::span<const int64_t> shape, size_t begin, size_t end);
inline int64_t product(std::span<const int64_t> shape) {
  return product(shape, 0, shape.size());
}
/// shape[begin, end) as a shape.
inline Shape slice_of(std::span<const int64_t> shape, size_t begin, size_t end) {
  return {shape.begin() + static_cast<ptrdiff_t>(begin),
          shape.begin() + static_cast<ptrdiff_t>(end)};
}

} // namespace octet
