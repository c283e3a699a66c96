// SPDX-License-Identifier: Apache-2.0
// What the checks of all targets share: a rule is a function that looks at one node, a table lists
// them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/domains.h"
#include "graph/label.h"
#include "ops/qdq/quant_layout.h"
#include "ops/qdq/site.h"
#include "targets/tables.h"

#include "octet/target.h"

namespace octet {

struct CheckContext {
  const Graph& graph;
  const Uses& uses;
  const TargetDef& target;
  std::vector<Finding>& findings;
  const std::string& path; ///< to the body that is looked at; empty: the model itself
  NodeId first;            ///< the node that speaks for the whole model; none in a body

  bool at_least(int version) const { return target.version >= version; } ///< major * 100 + minor
  /// True for one node of the model: for rules that look at the model as a whole.
  bool once(const Node& node) const { return node.id == first; }
  void add(std::string_view rule,
           Severity severity,
           const std::string& node,
           std::string message,
           std::string fix,
           std::string_view source) const;
};

/// Of what was measured on ONNX Runtime 1.31: it may not hold of older releases.
inline Severity measured(const CheckContext& context) {
  return context.at_least(131) ? Severity::kError : Severity::kWarning;
}

using CheckFn = void(const CheckContext&, const Node&);

std::span<CheckFn* const> tensorrt_checks();
std::span<CheckFn* const> onnxruntime_checks();
std::span<CheckFn* const> octet_checks();

/// The rules of TensorRT that look at operators other than Q and DQ.
CheckFn tensorrt_clip_on_codes, tensorrt_known_operator, tensorrt_uint8_tensor, tensorrt_opset;
/// Types that TensorRT does not have.
CheckFn tensorrt_types;
/// Types and attributes that ONNX's operator does not have, or ONNX Runtime's kernels do not take.
CheckFn onnxruntime_schema, onnxruntime_kernel_types, onnxruntime_layout;
/// The same of com.microsoft.
CheckFn onnxruntime_microsoft_types;
/// What it fuses and cannot run then.
CheckFn onnxruntime_fused;
/// What its exact mode does not load.
CheckFn onnxruntime_shared_constant, onnxruntime_exact_mode_kernel;
/// Whether ONNX Runtime's exact mode codes the int8 weight that this DQ reads as uint8.
bool becomes_uint8(const Graph& graph, const Node& node);

/// Codes of a type that ONNX's operator does not take in the file's operator set.
CheckFn codes_of_later_opset;
/// What to do about a type that the node's operator does not take.
std::string fix_of_type(const Graph& graph, const Node& node);

/// A constant scale that no parser refuses and that quantizes nothing: NaN, infinite, 0, negative.
CheckFn odd_scale;
/// What to write instead of one that is not positive.
std::string fix_of_scale(const Node& node, const Tensor& scale, int64_t index);

/// How layers run, by target family.
Result<std::vector<LayerForm>> explain_tensorrt(const Graph& graph, const TargetDef& target);
Result<std::vector<LayerForm>> explain_onnxruntime(const Graph& graph, const TargetDef& target);
/// One layer alone. The graph has its types.
LayerForm onnxruntime_layer(const Graph& graph, const TargetDef& target, const Node& node);
Result<std::vector<LayerForm>> explain_octet(const Graph& graph, const TargetDef& target);

/// `Conv "c1"`, or the operator and its first output where the node has no name.
std::string label(const Graph& graph, const Node& node);

} // namespace octet
