// SPDX-License-Identifier: Apache-2.0
// Which operator of ONNX Runtime (x64, CPU) will run each layer of a Q/DQ file: its fusion rules,
// replayed. Source: docs/targets.md 4.2 (selectors) and 8 (measured), which wins.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "targets/checks.h"
#include "targets/onnxruntime/integer.h"
#include "targets/onnxruntime/releases.h"

namespace octet {

/// A layer, and what its form is called.
struct OnnxRuntimeLayer {
  OnnxRuntimeForm form = OnnxRuntimeForm::kAsWritten;
  LayerForm said;
  const Node* lacks_zero_point = nullptr; ///< the DQ, where only that keeps a Gemm in float
};

/// Of the layers of one graph, in topological order: what one takes along is told of the next. Defined
/// in explain.cc, products in explain_products.cc, what moves values and runs around Q/DQ in
/// explain_moves.cc.
class OnnxRuntimeExplainer {
 public:
  using Form = OnnxRuntimeForm;
  using Layer = OnnxRuntimeLayer;
  using Codes = OnnxRuntimeCodes::Codes;
  using Output = OnnxRuntimeCodes::Output;

  OnnxRuntimeExplainer(const Graph& graph, const TargetDef& target)
      : graph_(graph), target_(target), codes_(graph), dynamic_(graph, codes_),
        float_bias_(target.version >= kFloatBiasSince) {}
  Layer layer(const Node& node);

 private:
  static Layer runs(Layer& out, LayerPrecision precision, std::string why);
  static Layer on_codes(Layer& out, std::string why);
  static Layer gone(Layer& out, std::string where, std::string why);
  static void take(Layer& out, const Node& node, Form form);
  static Layer in_integers(Layer& out, const Node& node, Form form, std::string why);
  Layer integer(const Node& node, Layer out) const;
  static Layer of_few_bits(const Node& node, Layer out);
  bool holds_codes(ValueId value) const;

  /// Float, with the activation that it takes along, by single use.
  void take_float_form(const Node& node, Layer& out);

  /// A condition that failed, and what would meet it.
  struct Unmet {
    std::string why, mend;
    std::string wants_codes = {}; ///< the value on which the mend puts Q/DQ
  };
  using Obstacle = std::optional<Unmet>;

  /// No kernel of the CPU provider takes f16 there: it puts casts around a float operator, and Q/DQ
  /// fusion passes it by. What only moves values has kernels for every type.
  Obstacle in_half_precision(const Node& node) const;
  Unmet not_through_dq(const Node& node, size_t input) const;
  Unmet with_codes_on(ValueId value, std::string why) const;
  static Unmet stays_int8(const Codes& codes);

  /// Of a product: both inputs through DQ.
  Obstacle float_inputs(const Node& node) const;
  Obstacle int8_input(const Node& node) const;

  /// Codes that the fusion takes for bytes; without a kernel for them the file is refused.
  static bool are_fused(DType codes);

  /// A float weight, and a float bias, that it quantizes by itself when the file is loaded: Conv
  /// and Gemm between Q/DQ on input and output.
  bool gets_a_coded_weight(const Node& node) const;

  /// The Q behind a layer makes codes of another type than those that come in.
  Obstacle other_codes(DType in, const Output& y) const;
  Layer conv(const Node& node, Layer out);
  Layer gemm(const Node& node, Layer out);

  /// The DQ of an operand, that of a float weight aside, which gets one when it is coded. The kernel
  /// wants two zero points, and Gemm is left alone where one is not written.
  const Node* lacking_zero_point(const Node& node) const;

  /// A MatMul and the Add of its bias, as one.
  Layer as_gemm(const Node& node, const Node& add, Layer out);

  /// What the second input's codes are: those of a weight stay as they are.
  DType weight_type(const Node& node) const;
  Obstacle several_scales(const Node& node) const;

  /// More scales than one of the activation, or of the weight along another axis than its columns.
  Obstacle odd_scales(const Node& node) const;

  /// As many as there are columns: the axis is not looked at.
  bool has_a_scale_for_each(const Node& node, int64_t columns) const;

  /// Of Conv, it compares the bias' scale with the sum's, roughly; of Gemm it does not look.
  Obstacle odd_bias(const Node& node) const;
  static bool is_plain_gemm(const Node& node);
  bool has_float_bias(const Node& node) const;
  static Unmet old_float_bias();

  /// Its matrix is read by a Transpose alone.
  bool next_turns(const Node& node) const;
  bool next_is_clamp(const Node& node) const;
  Unmet no_q_behind(const Node& node) const;
  static Layer stays(Layer& out, Unmet in_the_way);

  /// A Gemm that is MatMul and Add of a bias along the columns, or a MatMul.
  bool has_plain_operands(const Node& node) const;

  /// A float input, no Q behind, and an integer weight of 2, 4 or 8 bits: one scale, one for each
  /// column, or blocks of rows.
  bool has_stored_weight_alone(const Node& node) const;
  Layer matmul(const Node& node, Layer out);
  static bool is_around(const Node& node);
  static bool is_movement(const Node& node);
  static bool quantizes(const Node& node);
  Layer around(const Node& node, Layer out);
  Layer movement(const Node& node, Layer out) const;

  /// The DQ before or a Q behind what moves values that keeps its pairs where they are: they go only
  /// where a zero point says what type the codes have. Null: none.
  const Node* pair_without_zero_point(const Node& node) const;
  Unmet without_zero_point(const Node& pair) const;

  /// The same, where all have zero points.
  Layer moved(const Node& node, Layer out) const;

  /// Every output goes into a Q with the parameters of the DQ before.
  bool takes_one_scale(const Node& node, const Node& dequantize) const;

  /// The order of codes is that of values, so its DQ goes.
  Layer arg_max(const Node& node, Layer out) const;
  static Unmet of_other_bits(DType codes);

  const Graph& graph_;
  const TargetDef& target_;
  const OnnxRuntimeCodes codes_;
  const DynamicProducts dynamic_;
  bool float_bias_;                     ///< whether it turns a float bias into int32 by itself
  std::map<NodeId, const Node*> fused_; ///< activations, with what computes them
};

} // namespace octet
