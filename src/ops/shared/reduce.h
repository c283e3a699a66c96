// SPDX-License-Identifier: Apache-2.0
// The Reduce operators: attributes in their old and new form, shapes, and evaluation of a function
// of the list of elements that fall together. Over no axes, that list holds one element.
#pragma once

#include "ops/shared/types.h"

namespace octet {

struct Reduction {
  TypeSet types;            ///< of the input, which the output has too
  int64_t axes_input_since; ///< operator set version in which axes became an input
  /// The result for the elements that fall together, possibly none.
  double (*real)(std::span<const double>);
  /// The same for integers and bool; without it, `real` is truncated and saturates. The type
  /// gives the limits.
  int64_t (*integer)(std::span<const int64_t>, DType) = nullptr;
  /// For shape computations: the result of two dims, when folding them gives the reduction.
  Dim (*on_dims)(const Dim&, const Dim&) = nullptr;
};

/// Limits of an integer type or bool, as int64 (u64: those of int64).
int64_t lowest_integer(DType type);
int64_t highest_integer(DType type);

inline constexpr TypeSet kReducible =
    kFloatTypes | TypeSet{DType::kInt32, DType::kInt64, DType::kUint32, DType::kUint64};

/// Which axes are reduced, from those that a node states.
Result<std::vector<bool>>
reduced_axes(const Node& node, std::span<const int64_t> stated, int64_t rank);

Result<std::vector<OutputInfo>> infer_reduction(const InferContext& ctx, const Reduction& r);
Result<std::vector<Tensor>>
eval_reduction(const EvalContext& ctx, InferFn* infer, const Reduction& r);
/// The same as facets.
template <const Reduction& kReduction>
Result<std::vector<OutputInfo>> infer_reduction(const InferContext& ctx) {
  return infer_reduction(ctx, kReduction);
}
template <const Reduction& kReduction>
Result<std::vector<Tensor>> eval_reduction(const EvalContext& ctx) {
  return eval_reduction(ctx, infer_reduction<kReduction>, kReduction);
}

} // namespace octet
