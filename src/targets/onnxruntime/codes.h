// SPDX-License-Identifier: Apache-2.0
// Which 8-bit codes reach and leave a layer of a Q/DQ file once ONNX Runtime has prepared it:
// constants folded, Q and DQ moved past what only moves values, int8 codes turned into uint8 where
// it can. Source: docs/targets.md 4.2 and 8.
#pragma once

#include <cstdint>
#include <set>

#include "octet/graph.h"

namespace octet {

/// Q and DQ move past these: MaxPool, Transpose, Reshape, Squeeze, Unsqueeze, Slice.
bool onnxruntime_moves_codes_past(const Node& node);
/// Q and DQ of one scale on both sides of these go, without moving past them.
bool onnxruntime_drops_codes_around(const Node& node);

/// FP8 and 2 bits. Q/DQ fusion knows codes of 4 and 16 bits that it has no integer kernels for, and
/// takes these for 8 bits.
bool onnxruntime_takes_for_bytes(DType type);
/// Of codes that are moved, reduced or searched: whether the operator takes them without its Q/DQ,
/// whether or not it has a kernel for them.
bool onnxruntime_strips_codes(const Node& node, DType type);

/// Whether the DQ that a value comes through, also past Transposes, has scales along an axis of the
/// value, and not of blocks.
bool has_scales_along(const Graph& graph, ValueId value, int64_t axis);
/// A DQ moves past an operator whoever reads what that makes, but for a Q among them.
bool onnxruntime_reaches_readers(const Graph& graph, const Uses& uses, ValueId moved);
/// A DQ of constants moves past Transpose alone, one of other codes past all that
/// onnxruntime_moves_codes_past.
bool onnxruntime_moves_constants_past(const Node& node);

class OnnxRuntimeCodes {
 public:
  explicit OnnxRuntimeCodes(const Graph& graph);

  /// Why int8 codes cannot be turned into uint8.
  enum class KeptInt8 : uint8_t {
    kNo,
    kStored,         ///< constants, which are no weights
    kNoQuantize,     ///< an input of the graph
    kBehindOperator, ///< `between` stands between Q and DQ
    kSeveralReaders,
    kNoScalarZero,
  };
  struct Codes {
    bool present = false;
    DType type = DType::kUndefined; ///< int8: what could not be turned into uint8
    KeptInt8 kept = KeptInt8::kNo;
    const Node* between = nullptr;
    const Node* dequantize = nullptr; ///< that an input comes through
  };
  /// The codes behind the DQ that `value` comes through; absent where there is none.
  Codes of_input(ValueId value) const;
  /// Those of an input behind what its DQ moves past: the pair there is one's own.
  Codes behind_move(Codes codes) const;
  /// Those that Q makes.
  Codes of_quantize(const Node& quantize) const;

  /// A constant scale for the whole tensor.
  bool has_one_scale(const Node& node) const;
  /// Whether a Q or DQ has a zero point by then: a DQ of int8 that becomes uint8 gets one.
  bool has_zero_point(const Node& node) const;
  /// Scale and zero point of both are constants, and the same.
  bool have_one_scale(const Node& dequantize, const Node& quantize) const;

  /// The Q that takes a layer's output, past what moves values and past a clamp that it absorbs.
  struct Output {
    const Node* quantize = nullptr;
    const Node* clamp = nullptr;
    bool moved = false; ///< before what moves values: a pair of its own is put there
  };
  Output output_of(const Node& node) const;
  /// The codes that come out, where there is such a Q.
  Codes of_output(const Output& y) const;
  /// The Q that takes a value, past what moves values; null: there is none.
  const Node* quantize_of(ValueId value) const;
  /// A Relu or Clip whose work the Q behind it does: it goes, whatever runs before it.
  bool is_absorbed(const Node& clamp) const;

  /// A weight whose codes are constants, stored or made of constants when the file is loaded.
  bool is_stored(ValueId value) const;
  /// A constant, or computed of constants only (DQ is left alone).
  bool is_folded(ValueId value) const;

  const Uses& uses() const { return uses_; }
  const Node* only_reader(ValueId value) const;

 private:
  const Node* quantize_behind(ValueId value, bool& moved) const;
  bool absorbs(const Node& quantize, const Node& clamp) const;
  bool has_scalar_zero(const Node& dequantize) const;
  static Codes behind_operator(Codes codes, const Node& between);

  const Graph& graph_;
  Uses uses_;
  std::set<ValueId> folded_;
};

} // namespace octet
