// SPDX-License-Identifier: Apache-2.0
// What moves, picks or orders values, and what runs between Q and DQ as QLinear operators do.
#include <algorithm>

#include "core/format.h"
#include "targets/onnxruntime/explainer.h"

namespace octet {

OnnxRuntimeLayer OnnxRuntimeExplainer::around(const Node& node, Layer out) {
  DType in = DType::kUndefined;
  for (size_t i = node.is("Where") ? 1 : 0; i < node.inputs.size(); ++i) {
    const Codes codes = codes_.of_input(node.input(i));
    if (!codes.present)
      return stays(out, with_codes_on(node.input(i), "not all of its inputs come through DQ"));
    if (in != DType::kUndefined && in != codes.type)
      return stays(out, {"its inputs have codes of several types", "use one type for all"});
    in = codes.type;
  }
  if (!are_fused(in)) return stays(out, of_other_bits(in));
  const Output y = codes_.output_of(node);
  if (y.quantize == nullptr) return stays(out, no_q_behind(node));
  if (const Obstacle in_the_way = other_codes(in, y)) return stays(out, *in_the_way);
  return in_integers(out, node, Form::kQLinear, "Q/DQ on inputs and output");
}

OnnxRuntimeLayer OnnxRuntimeExplainer::movement(const Node& node, Layer out) const {
  if (holds_codes(node.output(0))) return on_codes(out, "its tensors hold codes");
  Layer with_zero_points = moved(node, out);
  if (with_zero_points.said.precision != LayerPrecision::kCodes) return with_zero_points;
  const Node* lacking = pair_without_zero_point(node);
  return lacking != nullptr ? stays(out, without_zero_point(*lacking)) : with_zero_points;
}

const Node* OnnxRuntimeExplainer::pair_without_zero_point(const Node& node) const {
  std::vector<const Node*> behind;
  for (const ValueId value : node.outputs)
    if (const Node* quantize = value.valid() ? codes_.quantize_of(value) : nullptr)
      behind.push_back(quantize);
  if (const Node* before = codes_.of_input(node.input(0)).dequantize) {
    // Of what a DQ moves past, the Q is made after it.
    const bool has = behind.empty() ? qdq::written(graph_, *before).zero.valid()
                                    : codes_.has_zero_point(*before);
    if (!has) return before;
  }
  const auto lacks = [&](const Node* quantize) { return !codes_.has_zero_point(*quantize); };
  const auto lacking = std::find_if(behind.begin(), behind.end(), lacks);
  return lacking != behind.end() ? *lacking : nullptr;
}

OnnxRuntimeLayer OnnxRuntimeExplainer::moved(const Node& node, Layer out) const {
  const bool past = onnxruntime_moves_codes_past(node);
  const Codes x = codes_.of_input(node.input(0));
  const Output y = codes_.output_of(node);
  const bool quantized = y.quantize != nullptr && y.clamp == nullptr;
  if (!x.present) {
    const bool strips = quantized && onnxruntime_strips_codes(node, codes_.of_output(y).type);
    if (strips && past && codes_.uses().count(node.input(0)) == 1)
      return on_codes(out, "Q moves before it");
    out.said.why = "its input does not come through DQ";
    return out;
  }
  if (!onnxruntime_strips_codes(node, x.type)) return stays(out, of_other_bits(x.type));
  if (quantized) {
    if (takes_one_scale(node, *x.dequantize)) return on_codes(out, "Q/DQ on both sides go");
    if (past && graph_.producer(node.input(0)) != x.dequantize)
      return on_codes(out, "Q moves before it");
    return stays(out, {"the Q behind it has another scale or zero point than the DQ before it",
                       "give both the same scale and zero point"});
  }
  if (!past) return stays(out, no_q_behind(node));
  if (!onnxruntime_reaches_readers(graph_, codes_.uses(), node.output(0)))
    return stays(out, {"a Q and others read what it makes, so the DQ before it stays where it is",
                       "give each of its readers a Q, or none"});
  if (!codes_.has_one_scale(*x.dequantize))
    return stays(out, {"the DQ before it has several scales, so it stays where it is",
                       "quantize with one scale for the tensor"});
  return on_codes(out, "DQ moves behind it");
}

bool OnnxRuntimeExplainer::takes_one_scale(const Node& node, const Node& dequantize) const {
  return std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId out) {
    if (!out.valid()) return true;
    const Node* quantize = codes_.quantize_of(out);
    return quantize != nullptr && codes_.have_one_scale(dequantize, *quantize);
  });
}

OnnxRuntimeLayer OnnxRuntimeExplainer::arg_max(const Node& node, Layer out) const {
  const Codes x = codes_.of_input(node.input(0));
  const bool drops =
      x.present && onnxruntime_strips_codes(node, x.type) && codes_.has_one_scale(*x.dequantize);
  if (drops && !codes_.has_zero_point(*x.dequantize))
    return stays(out, without_zero_point(*x.dequantize));
  if (drops || holds_codes(node.input(0))) return on_codes(out, "the DQ before it goes");
  out.said.why = x.present ? "its DQ has several scales, or codes of more than 8 bits"
                           : "its input does not come through DQ";
  return out;
}

} // namespace octet
