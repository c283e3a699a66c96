// SPDX-License-Identifier: Apache-2.0
// Elementwise operators from scalar functions, compiled once over three domains: double for every
// floating type (rounded once into the tensor's type), int64 for signed and uint64 for unsigned
// integers (results wrap to the type's width, as NumPy's do).
#pragma once

#include <functional>

#include "ops/shared/types.h"

namespace octet {

struct UnaryFn {
  std::function<double(double)> real;
  std::function<int64_t(int64_t)> integer;   ///< signed types
  std::function<uint64_t(uint64_t)> natural; ///< unsigned types
};
struct BinaryFn {
  std::function<double(double, double)> real;
  std::function<int64_t(int64_t, int64_t)> integer;
  std::function<uint64_t(uint64_t, uint64_t)> natural;
};
/// The value of a shape computation, from those of the inputs.
using DimFn = std::function<Dim(const Dim&, const Dim&)>;

/// One input; the output has its type and shape.
Result<std::vector<OutputInfo>> infer_unary(const InferContext& ctx, TypeSet allowed);
/// Two inputs of one type that broadcast. `output` is the output's element type, kUndefined: the
/// inputs'. `on_dims` carries shape computations.
Result<std::vector<OutputInfo>> infer_binary(const InferContext& ctx,
                                             TypeSet allowed,
                                             DType output = DType::kUndefined,
                                             const DimFn& on_dims = {});
/// One or more inputs of one type that broadcast.
Result<std::vector<OutputInfo>>
infer_variadic(const InferContext& ctx, TypeSet allowed, const DimFn& on_dims = {});

/// The same as facets.
template <const TypeSet& kAllowed>
Result<std::vector<OutputInfo>> infer_unary(const InferContext& ctx) {
  return infer_unary(ctx, kAllowed);
}
template <const TypeSet& kAllowed, DType kOutput = DType::kUndefined>
Result<std::vector<OutputInfo>> infer_binary(const InferContext& ctx) {
  return infer_binary(ctx, kAllowed, kOutput);
}
template <const TypeSet& kAllowed>
Result<std::vector<OutputInfo>> infer_variadic(const InferContext& ctx) {
  return infer_variadic(ctx, kAllowed);
}

/// y = f(x) on one tensor of a type that `f` has a function for.
Result<Tensor> map_unary(const Tensor& x, const UnaryFn& f);
/// z = f(x, y) with broadcasting; `output` as in infer_binary.
Result<Tensor>
map_binary(const Tensor& x, const Tensor& y, const BinaryFn& f, DType output = DType::kUndefined);

/// The validated evaluation of an operator whose `infer` is given.
Result<std::vector<Tensor>> eval_unary(InferFn* infer, const EvalContext& ctx, const UnaryFn& f);
/// The facet of an operator that is a function of real numbers alone (infer_unary<kFloatTypes>).
template <double (*kFn)(double)>
Result<std::vector<Tensor>> eval_real(const EvalContext& ctx) {
  return eval_unary(infer_unary<kFloatTypes>, ctx, {.real = kFn, .integer = {}, .natural = {}});
}
Result<std::vector<Tensor>> eval_binary(InferFn* infer,
                                        const EvalContext& ctx,
                                        const BinaryFn& f,
                                        DType output = DType::kUndefined);
/// ((x0 f x1) f x2) ... in one go, then `finish` on real results; rounded once at the end.
Result<std::vector<Tensor>> eval_variadic(InferFn* infer,
                                          const EvalContext& ctx,
                                          const BinaryFn& f,
                                          const std::function<double(double)>& finish = {});

/// Element values of an integer or bool tensor: sign- or zero-extended to 64 bits.
Result<std::vector<int64_t>> integer_values(const Tensor& x);
/// The low bits of each value; for bool, value != 0.
Result<Tensor> integer_tensor(DType type, Shape shape, std::span<const int64_t> values);
/// Doubles rounded once into a floating type; what overflows becomes infinite where it can be.
Result<Tensor> real_tensor(DType type, Shape shape, std::span<const double> values);

/// Wrapping arithmetic on int64.
inline int64_t wrap_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
inline int64_t wrap_sub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
inline int64_t wrap_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

} // namespace octet
