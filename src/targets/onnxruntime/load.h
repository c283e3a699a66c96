// SPDX-License-Identifier: Apache-2.0
// What ONNX Runtime's own rewriting makes of Q/DQ and then fails to load: check names it, repair
// mends it. Source: docs/targets.md 8.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "octet/graph.h"

namespace octet {

struct TargetDef;

/// How many operators that move codes are looked past.
inline constexpr int kMostMovesOfCodes = 16;

/// The number of elements of a value, where its shape is known.
std::optional<int64_t> static_count(const Graph& graph, ValueId value);

/// The DQ that a value comes through, past what it moves on the way to one reader; null: none.
const Node* onnxruntime_dequantize_before(const Graph& graph, const Uses& uses, ValueId value);

/// A Q behind a node, past what moves values or clamps, each with one reader; null: none.
const Node* onnxruntime_quantize_behind(const Graph& graph, const Uses& uses, const Node& node);

/// The Add behind a MatMul of a matrix with which it becomes a Gemm: its other side has a value for
/// each column, of an input of two axes also a row or as many rows as that has. Of any other number
/// of axes every size is known, and Reshapes stand around the Gemm. Null: none.
const Node* onnxruntime_gemm_bias(const Graph& graph, const Uses& uses, const Node& node);

/// Whether it is a MatMul that becomes a Gemm with Reshapes around it.
bool onnxruntime_reshapes_gemm(const Graph& graph, const Uses& uses, const Node& node);

/// A DQ of int8 codes that it moves past one or more operators, where no Q stands behind the last:
/// it puts one there, says INT8 in output_dtype, and then turns the codes into UINT8. From operator
/// set 21 on, which has that attribute. The Reshape before a Gemm that was a MatMul is
/// such a place.
struct MovedCodes {
  const Node* dequantize = nullptr;
  const Node* last = nullptr; ///< of what it moves past; null: the Reshape before Gemm
};
/// `node`: the first operator behind the DQ.
std::optional<MovedCodes>
onnxruntime_moved_int8(const Graph& graph, const Uses& uses, const Node& node);

/// The Q behind a Concat in f16 of DQ alone, also past what DQ and Q move past: together they
/// become QLinearConcat, which takes f32 scales only. Null: none.
const Node* onnxruntime_half_concat(const Graph& graph, const Uses& uses, const Node& concat);

/// A Q of int8 codes with a zero point and output_dtype, alone before one DQ that has one reader:
/// what turns the codes into UINT8 leaves the attribute at INT8.
bool onnxruntime_keeps_output_type(const Graph& graph, const Uses& uses, const Node& quantize);

/// What ONNX Runtime says, when it loads or runs the file, of a layer that it fuses with Q/DQ whose
/// scales or codes the fused kernel does not take.
std::optional<std::string> onnxruntime_fused_fault(const Graph& graph,
                                                   const Uses& uses,
                                                   const TargetDef& target,
                                                   const Node& node);

/// Codes of FP8, 4 or 2 bits on which its rewriting of Q/DQ runs a node that it has no kernel for.
struct MisreadCodes {
  const Node* dequantize = nullptr; ///< before the node, past what moves them; null: none
  const Node* quantize = nullptr;   ///< behind it
  size_t input = 0;                 ///< of the node, through which they come
  std::string said;                 ///< what is missing
};
/// Of a layer that is fused with Q/DQ as if they were bytes, of what runs on codes.
std::optional<MisreadCodes> onnxruntime_misread_codes(const Graph& graph,
                                                      const Uses& uses,
                                                      const TargetDef& target,
                                                      const Node& node);
/// Of a Relu or Clip before a Q of such codes: the Relu is dropped although their lowest code is
/// below 0, of the Clip the zero point is not read and the file refused.
std::optional<MisreadCodes>
onnxruntime_misread_clamp(const Graph& graph, const Uses& uses, const Node& node);

/// A Softmax of few elements whose fused kernel loses the largest of them.
std::optional<MisreadCodes> onnxruntime_lost_softmax(const Graph& graph,
                                                     const Uses& uses,
                                                     const TargetDef& target,
                                                     const Node& node);

/// A Transpose of an output of the graph with a Q behind it, which moves before it; `said`: the
/// output's name.
std::optional<MisreadCodes> onnxruntime_quantized_output(const Graph& graph,
                                                         const Uses& uses,
                                                         const TargetDef& target,
                                                         const Node& node);

/// Whether a dilation is not 1.
bool onnxruntime_dilates(const Node& pool);
/// An AveragePool that is fused with its Q/DQ although it says dilations, which the fused operator does
/// not know.
std::optional<MisreadCodes> onnxruntime_refused_pool(const Graph& graph,
                                                     const Uses& uses,
                                                     const TargetDef& target,
                                                     const Node& node);

/// The bias behind DQ of a Conv or Gemm, or of a MatMul that with the Add behind it makes one, which
/// becomes integer, where scale and zero point of the bias are not those of the sum: ONNX Runtime adds
/// the codes as they are. Invalid: none.
ValueId onnxruntime_misread_bias(const Graph& graph,
                                 const Uses& uses,
                                 const TargetDef& target,
                                 const Node& node);

/// The DQ of an operand for whose missing zero point, and nothing else, a Gemm, or a MatMul with an
/// Add that makes one, stays in float. Null: none.
const Node*
onnxruntime_lacks_zero_point(const Graph& graph, const TargetDef& target, const Node& node);

/// The axis of the weight of Conv, ConvTranspose, Gemm or MatMul that the channels of the output lie
/// along.
int64_t onnxruntime_channel_axis(const Node& node);

/// A product that ONNX Runtime turns into one of integers as far as it is float when it loads the
/// file: Conv, ConvTranspose, Gemm, or MatMul with an Add that make one, behind a DQ of one scale,
/// before a Q, without a bias or with a constant one of one axis.
struct PreparedProduct {
  const Node* reader = nullptr; ///< of the bias: the product, or the Add behind a MatMul
  size_t input = 0;             ///< of `reader`
  const Tensor* bias = nullptr; ///< null: none
  const Node* x = nullptr;      ///< the DQ that the input comes through
  double x_scale = 0;
};
/// Nullopt: ONNX Runtime leaves it as it is.
std::optional<PreparedProduct> onnxruntime_prepared_product(const Graph& graph,
                                                            const Uses& uses,
                                                            const TargetDef& target,
                                                            const Node& node);

/// Whether such a product has a float weight: it becomes int8, with one scale for all channels.
bool onnxruntime_rounds_weight(const Graph& graph,
                               const Uses& uses,
                               const TargetDef& target,
                               const Node& node);
/// The same, and what the layer becomes by it, of which `said` tells: nothing where it stays float.
std::optional<MisreadCodes> onnxruntime_rounded_weight(const Graph& graph,
                                                       const Uses& uses,
                                                       const TargetDef& target,
                                                       const Node& node);

/// A weight of 2 bits behind DQ, before a product of floats: what MatMulNBits gets of it is wrong
/// where the columns are no multiple of 4.
std::optional<MisreadCodes>
onnxruntime_misread_columns(const Graph& graph, const TargetDef& target, const Node& node);

/// The float bias of such a product: it is rounded to int32 in steps of s_x s_w, counted in the type
/// that the bias has, and what does not fit is cut off.
struct RoundedBiases : PreparedProduct {
  const Node* weight = nullptr; ///< the DQ that the weight comes through; null: a float constant
  std::vector<double> w_scales; ///< one, or one for each element
};
/// Nullopt: ONNX Runtime leaves the bias as it is.
std::optional<RoundedBiases> onnxruntime_rounded_biases(const Graph& graph,
                                                        const Uses& uses,
                                                        const TargetDef& target,
                                                        const Node& node);
struct LostBiases : RoundedBiases {
  bool on_codes = false;    ///< the product adds the codes to a sum in int32
  bool would_be = false;    ///< or would, and with any bias of int32 codes behind DQ
  std::vector<size_t> lost; ///< the elements that do not fit, or that the sum overflows with
  double steps = 0;         ///< of the first of these
};
/// Nullopt: none.
std::optional<LostBiases> onnxruntime_lost_biases(const Graph& graph,
                                                  const Uses& uses,
                                                  const TargetDef& target,
                                                  const Node& node);

/// A DQ that says another type for what it makes than its scale has, and a layer behind it, past
/// what moves values, that ONNX Runtime fuses into an operator of one type. Null: there is none.
const Node* onnxruntime_mixed_scale(const Graph& graph,
                                    const Uses& uses,
                                    const TargetDef& target,
                                    const Node& dequantize);

/// The input of ConvInteger or MatMulInteger that is a zero point of several elements where the
/// kernel takes one: both of ConvInteger, that of a of MatMulInteger.
std::optional<size_t> onnxruntime_wide_zero_point(const Graph& graph, const Node& node);

} // namespace octet
