// SPDX-License-Identifier: Apache-2.0
// What products with constant weights have in common: their constant operands, and for integer
// ones what becomes of a sum and of a residual.
#pragma once

#include <memory>
#include <string_view>

#include "core/threads.h"
#include "runtime/kernels/igemm.h"
#include "runtime/kernels/sgemm.h"
#include "runtime/kernels/tile_function.h"
#include "runtime/steps/call.h"

namespace octet::runtime {

/// Input 1, aligned. An error says why `kernel` does not take the node.
Result<Tensor> constant_weights(const PrepareContext& c, std::string_view kernel);
/// The same of int8 weights [n, ...], whose sums have at most kernels::kMaxK terms, or of i16 ones
/// that QGemm and QScaledGemm take.
Result<Tensor> constant_codes(const PrepareContext& c, std::string_view kernel);
/// The same of the bias, which is empty where it is omitted.
Result<Tensor> constant_bias(const PrepareContext& c, size_t input, std::string_view kernel);

/// Bias, `min` and `max` of a float product; `bias` must outlive it.
kernels::FloatEpilogue float_epilogue_of(const Node& node, const Tensor& bias);

/// Weights and bias of a float convolution, constant or computed.
struct WindowOperands {
  Tensor weights; ///< aligned; empty where the graph computes them
  Shape shape;    ///< of the weights, [O, kh, kw, I]
  Tensor bias;    ///< aligned; empty where there is none, or the graph computes it
  bool made_bias = false;

  bool made_weights() const { return weights.empty(); }
  /// Takes the bias from its slot where the graph computes it.
  void set_bias(std::span<const Operand> in, Slots slots, kernels::FloatEpilogue& epilogue) const;
};
/// An error says why `kernel` does not take the node.
Result<WindowOperands> window_operands(const PrepareContext& c, std::string_view kernel);

/// Inputs 1 to 3 of an integer product, aligned.
struct IntegerOperands {
  Tensor codes;      ///< i8 (or i16 of products of rows), [n, ...]
  Tensor multiplier; ///< f32, [1] or [n]
  Tensor bias;       ///< i32 or f32, [n]; empty where there is none

  /// Borrows them.
  kernels::ColumnArgs columns(const Node& node) const;
};
/// Errors as of constant_codes.
Result<IntegerOperands> integer_operands(const PrepareContext& c, std::string_view kernel);

/// Weights [n, k] on the int8 matrix product.
struct IntegerGemm {
  std::shared_ptr<const kernels::PackedWeights> weights;
  kernels::IgemmColumns columns;
  std::unique_ptr<const kernels::TileFunction> function; ///< behind the product; may be null
  kernels::Epilogue epilogue;

  /// For rows of x; memory is not set.
  kernels::IgemmArgs args(const Operand& x) const;
};
IntegerGemm pack_gemm(const PrepareContext& c, const IntegerOperands& operands, kernels::XRange x);

/// A step that runs `kernel` on input 0 and, where there is an input 4, with that as the residual.
/// `args` may point into `state`.
template <class State, class Args>
Result<std::unique_ptr<Step>> bind_product(std::shared_ptr<State> state,
                                           const Args& args,
                                           void (*kernel)(const Args&, ParallelFor&),
                                           std::span<const Operand> in,
                                           std::span<const Operand> out) {
  const int32_t residual = in.size() > 4 ? in[4].id : -1;
  const auto run = [state, args, kernel, residual, x = in[0].id,
                    y = out[0].id](Slots slots, std::byte* shared, ParallelFor& parallel) {
    Args a = args;
    a.shared = shared;
    a.x = at<const void>(slots, x);
    a.y = at<void>(slots, y);
    if (residual >= 0) a.epilogue.residual = at<const void>(slots, residual);
    kernel(a, parallel);
  };
  return call_step(shared_bytes(args), run);
}

} // namespace octet::runtime
