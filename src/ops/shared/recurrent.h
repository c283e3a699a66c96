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
const RecurrentKind& rnn_kind();
const RecurrentKind& gru_kind();
const RecurrentKind& lstm_kind();

/// One of ONNX's functions with its parameters.
struct RecurrentActivation {
  std::string_view name; ///< in lower case
  double alpha, beta;
  double (*f)(double x, double alpha, double beta);
};

struct RecurrentAttrs {
  enum class Way { kForward, kReverse, kBoth };
  Way way = Way::kForward;
  bool batch_first = false;                     ///< layout 1
  double clip = 0;                              ///< 0: none
  std::vector<RecurrentActivation> activations; ///< of all directions
  int64_t directions() const { return way == Way::kBoth ? 2 : 1; }
  /// Whether direction `d` begins with the last step.
  bool backwards(int64_t d) const { return way == Way::kReverse || d == 1; }
};
/// Of all directions, with the clip in front.
std::vector<std::function<double(double)>> recurrent_functions(const RecurrentAttrs& attrs);
/// Errors: an attribute that the operator does not have in this form.
Result<RecurrentAttrs> parse_recurrent(const Node& node, const RecurrentKind& kind);

/// Sizes of a run, and where its parts lie: offsets in elements.
struct RecurrentSizes {
  int64_t steps, batch, inputs, hidden, directions, gates;
  bool batch_first;

  int64_t x_at(int64_t t, int64_t n) const {
    return (batch_first ? n * steps + t : t * batch + n) * inputs;
  }
  int64_t y_at(int64_t t, int64_t d, int64_t n) const {
    return (batch_first ? (n * steps + t) * directions + d : (t * directions + d) * batch + n) *
           hidden;
  }
  int64_t state_at(int64_t d, int64_t n) const {
    return (batch_first ? n * directions + d : d * batch + n) * hidden;
  }
};
RecurrentSizes recurrent_sizes(const RecurrentAttrs& attrs,
                               const RecurrentKind& kind,
                               std::span<const int64_t> x,
                               int64_t hidden);
/// Steps of each sequence: those of `lengths`, or all where it is empty. Errors: below 0, or more
/// than X has.
Result<std::vector<int64_t>> sequence_lengths(const Tensor& lengths, const RecurrentSizes& sizes);

/// With `of_sums` W is left out and X is [T, N, D G H] (layout 1: [N, T, D G H]), what all
/// directions add up of x.
Result<std::vector<OutputInfo>>
infer_recurrent(const InferContext& ctx, const RecurrentKind& kind, bool of_sums = false);
/// `infer` is the operator's; `step` updates h (and c).
Result<std::vector<Tensor>> eval_recurrent(InferFn* infer,
                                           const EvalContext& ctx,
                                           const RecurrentKind& kind,
                                           const std::function<void(const RecurrentStep&)>& step);
/// 1 and 2 are weights, 3 the bias.
Role recurrent_roles(const Node& node, size_t input);
/// The sums of x are a product with W; states are computed with in float.
QuantTrait recurrent_quant(const Node& node, std::span<const InputInfo> inputs);

} // namespace octet
