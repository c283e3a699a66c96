// SPDX-License-Identifier: Apache-2.0
// The products that certify looks at, in every form in which a file can hold them: stored int8
// weights as a matrix, activations as uint8 codes.
#pragma once

#include <span>
#include <vector>

#include "ops/qdq/int16_pairs.h"
#include "ops/qdq/sum_order.h"

#include "octet/certify.h"

namespace octet {

/// Where a stored number stands: an input of a node.
struct InputAt {
  NodeId node;
  size_t input = 0;
  bool valid() const { return node.valid(); }
  bool operator==(const InputAt&) const = default;
};

struct StoredProduct : SumOrder {
  NodeId node;
  InputAt codes, scale; ///< of the weights; `scale` is invalid where the form has it elsewhere
  InputAt bias;         ///< int32 codes at the scale of the sum, which changes with the weights'
  double x_scale = 1;   ///< of the activation, where the bias comes through DQ
  Tensor stored;        ///< the weight codes, as stored or as computed from constants
  bool weight_zero = false; ///< a zero point of the weights is not 0
  ValueId activation;       ///< codes, or real values that are quantized on the way
  bool dynamic = false;     ///< real values, quantized anew at every run
  NodeId requantize;        ///< real values that only moved since this DequantizeLinear
  int32_t offset = 0;       ///< makes codes uint8: 128 for int8
  int32_t zero = 0;         ///< uint8 zero point, which padding holds, unless it is computed
  ValueId computed_zero;    ///< then this one
  int32_t lowest = 0, highest = 255;
  std::string_view in_float;   ///< CertifiedLayer::in_float
  std::vector<int8_t> weights; ///< [channels, terms], terms in the order in which they are added

  CodeSpan span() const { return {lowest, highest}; }
};

struct Products {
  std::vector<StoredProduct> found; ///< in the graph's order
  std::vector<Unexamined> unexamined;
};

/// Q/DQ around Conv, Gemm and MatMul (also with a Clip between them), QLinearConv, QLinearMatMul,
/// ConvInteger, MatMulInteger, com.microsoft's MatMulIntegerToFloat, QGemm, DynamicQuantizeMatMul
/// and QAttention, octet.native's QDynamicGemm; of LSTM, GRU and RNN x and W between Q/DQ, all
/// directions as one matrix. Not listed, because exact: float products (those of FP8, FP4 and
/// 16-bit codes among them), uint8 weights, weights of 4 bits and fewer. What else may multiply
/// codes is unexamined.
Products find_products(const Graph& graph);

/// The weights of one output channel, in the order in which they are added.
std::span<const int8_t> channel_weights(const StoredProduct& product, int64_t channel);

/// uint8 codes of one sum's activations at some positions: [positions, terms] for each group.
/// `codes` is the activation's tensor, `zero` what padding holds. Evenly spaced positions, at most
/// `limit`.
struct Positions {
  int64_t count = 0;
  std::vector<uint8_t> codes; ///< [count, groups, terms]
};
Result<Positions> gather_positions(const Graph& graph,
                                   const StoredProduct& product,
                                   const Tensor& codes,
                                   int32_t zero,
                                   int64_t limit);

} // namespace octet
