// SPDX-License-Identifier: Apache-2.0
// What RNN, GRU and LSTM share: attributes, shapes, activations, directions and lengths.
// X: [T, N, I] (layout 1: [N, T, I]), W: [D, G H, I], R: [D, G H, H], B: [D, 2 G H],
// sequence_lens: [N], initial_h: [D, N, H] (layout 1: [N, D, H]); Y: [T, D, N, H] (layout 1:
// [N, T, D, H]), Y_h as initial_h. G: gates. Source: ONNX RNN, GRU, LSTM (opset 7 to 22).
#pragma once

#include <functional>

#include "ops/op.h"

namespace octet {

/// One time step of one sequence in one direction.
struct RecurrentStep {
  int64_t hidden = 0;
  const double* input = nullptr;                              ///< [G H]: W x + its bias
  const double* weights = nullptr;                            ///< R: [G H, H]
  const double* bias = nullptr;                               ///< [G H] of R
  const double* peepholes = nullptr;                          ///< [3 H], or null
  std::span<const std::function<double(double)>> activations; ///< with the clip in front
  double* h = nullptr;                                        ///< [H], before and after
  double* c = nullptr;                                        ///< [H] of LSTM, or null

  /// Row `i` of a gate's part of R times a vector, plus its bias.
  double recurrent(int64_t gate, int64_t i, const double* v) const;
};

/// What one of the three operators is.
struct RecurrentKind {
  int64_t gates;
  std::vector<std::string> activations; ///< of one direction, when none are named
  bool has_cell = false;                ///< LSTM: initial_c, peepholes and Y_c
};

Result<std::vector<OutputInfo>> infer_recurrent(const InferContext& ctx, const RecurrentKind& kind);
/// `infer` is the operator's; `step` updates h (and c).
Result<std::vector<Tensor>> eval_recurrent(InferFn* infer,
                                           const EvalContext& ctx,
                                           const RecurrentKind& kind,
                                           const std::function<void(const RecurrentStep&)>& step);
/// 1 and 2 are weights, 3 the bias.
Role recurrent_roles(const Node& node, size_t input);

} // namespace octet
