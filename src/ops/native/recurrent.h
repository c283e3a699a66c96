// SPDX-License-Identifier: Apache-2.0
// What RNN, GRU and LSTM of octet.native share. Inputs, attributes and outputs are those of ONNX
// (ops/shared/recurrent.h), all f32. The sum of a gate is one chain of fused multiply-adds: from 0
// over x, then Wb + Rb (one addition) is added, then the chain goes on over h. What follows is
// core/numerics/cell.h. W may be left out: X [T, N, D G H] (layout 1: [N, T, D G H]) is then what
// those chains over x and the biases came to elsewhere, and of B nothing is read but what
// linear_before_reset adds to the chain over h. docs/native-operators.md.
#pragma once

#include "core/numerics/cell.h"
#include "ops/shared/recurrent.h"

namespace octet::native {

/// The rules of each direction. Errors: those of parse_recurrent; a function that no CellFunction
/// is.
Result<std::vector<numerics::CellRules>> cell_rules(const Node& node, const RecurrentKind& kind);

/// Why an LSTM, GRU or RNN of ONNX is none of octet.native's; empty: it is. `is_constant` says it
/// of an input.
std::string why_not_native(const Graph& graph,
                           const Node& node,
                           const std::function<bool(size_t)>& is_constant);

/// Why the states of an LSTM of ONNX, or of com.microsoft's DynamicQuantizeLSTM, whose inputs up to
/// P have the same places, cannot be quantized step by step as QLSTM does it; empty: they can.
std::string why_not_stepwise(const Node& node, const std::function<bool(size_t)>& is_constant);

/// The kind of an operator of that name.
const RecurrentKind* recurrent_kind(std::string_view op_type);
/// Whether it is ONNX's LSTM, GRU or RNN.
bool is_recurrent(const Node& node);

Result<std::vector<OutputInfo>> infer_cells(const InferContext& ctx, const RecurrentKind& kind);

/// One sequence at one step: `sums` [G H] hold the chain over x with the biases.
struct CellStep {
  int64_t hidden = 0;
  const numerics::CellRules* rules = nullptr;
  std::vector<float> sums;
  const float* weights = nullptr;   ///< R: [G H, H]
  const float* bias = nullptr;      ///< [G H] of R, or null
  const float* peepholes = nullptr; ///< [3 H], or null
  float* h = nullptr;               ///< [H], before and after
  float* c = nullptr;               ///< [H] of LSTM

  /// `sum` with the chain over `v` behind it, by row i of a gate's part of R.
  float chain(float sum, int64_t gate, int64_t i, const float* v) const;
};

/// Which biases stand in the sums of x.
enum class CandidateBias {
  kJoined, ///< Wb + Rb of every gate
  kApart,  ///< of the last gate Wb alone (GRU with linear_before_reset)
};
CandidateBias candidate_bias(const Node& node);
/// Those biases [D, G H], of B [D, 2 G H] in f32.
Tensor input_biases(const Tensor& b, const RecurrentKind& kind, CandidateBias candidate);

Result<std::vector<Tensor>> eval_cells(InferFn* infer,
                                       const EvalContext& ctx,
                                       const RecurrentKind& kind,
                                       const std::function<void(CellStep&)>& step);

} // namespace octet::native
