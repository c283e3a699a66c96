// SPDX-License-Identifier: Apache-2.0
// What ONNX Runtime's own rewriting makes of Q/DQ and then fails to load: check names it, repair
// mends it. Source: docs/targets.md 8.
#pragma once

#include <optional>
#include <string>

#include "octet/graph.h"

namespace octet {

struct TargetDef;

/// The number of elements of a value, where its shape is known.
std::optional<int64_t> static_count(const Graph& graph, ValueId value);

/// The DQ that a value comes through, past what it moves on the way to one reader; null: none.
const Node* onnxruntime_dequantize_before(const Graph& graph, const Uses& uses, ValueId value);

/// A DQ of int8 codes that it moves past one or more operators, where no Q stands behind the last:
/// it puts one there, says INT8 in output_dtype, and then turns the codes into UINT8. From operator
/// set 21 on, which has that attribute.
struct MovedCodes {
  const Node* dequantize = nullptr;
  const Node* last = nullptr; ///< of what it moves past
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

/// A Conv or Gemm that becomes integer with a bias behind DQ whose scale and zero point are not
/// those of the sum: ONNX Runtime adds the codes as they are.
bool onnxruntime_misreads_bias(const Graph& graph, const TargetDef& target, const Node& node);

/// The input of ConvInteger or MatMulInteger that is a zero point of several elements where the
/// kernel takes one: both of ConvInteger, that of a of MatMulInteger.
std::optional<size_t> onnxruntime_wide_zero_point(const Graph& graph, const Node& node);

} // namespace octet
