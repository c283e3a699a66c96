// SPDX-License-Identifier: Apache-2.0
// How the layers of a graph run on a target.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/domains.h"
#include "graph/label.h"
#include "ops/qdq/quant_layout.h"
#include "ops/qdq/site.h"
#include "targets/tables.h"

#include "octet/target.h"

namespace octet {

/// A step down: the node that has bodies, and which of its bodies_of() it is.
struct BodyStep {
  NodeId node;
  size_t body = 0;
};
struct FindingPlace {
  std::vector<BodyStep> bodies; ///< from outside; none: in the graph itself
  NodeId node;                  ///< of the graph or of the last body; invalid: a value, the model
};
struct PlacedFinding {
  Finding finding;
  FindingPlace place;
};

/// `check`, which also says in which body a node stands.
Result<std::vector<PlacedFinding>> check_places(const Graph& graph, std::string_view target);
/// The layers that a refused node belongs to: itself, or what reads and makes the codes of Q or DQ.
std::vector<NodeId> layers_around(const Graph& graph, const Uses& uses, NodeId id);
/// Why a layer is refused: the rule, where, and what the target says.
std::string refusal_text(const Finding& finding);

/// How layers run, by target family.
Result<std::vector<LayerForm>> explain_tensorrt(const Graph& graph, const TargetDef& target);
Result<std::vector<LayerForm>> explain_onnxruntime(const Graph& graph, const TargetDef& target);

/// What ONNX Runtime (x64, CPU) runs for a node.
enum class OnnxRuntimeForm : uint8_t {
  kAsWritten,
  kQLinear, ///< QLinear and the name of the operator
  kQGemm,
  kMatMulIntegerToFloat,
  kDynamicQuantizeMatMul,
  kMatMulNBits, ///< float, on stored codes
  kFusedFloat,  ///< with the activation behind it: Fused and the name of the operator
  kGone,        ///< another layer computes it, or it is folded
};
/// The operator that runs; of kGone none.
std::string operator_of(OnnxRuntimeForm form, const Node& node);
/// An integer operator that a layer and its Q/DQ become.
bool is_fused_with_codes(OnnxRuntimeForm form);
/// Of one layer alone. The graph has its types.
OnnxRuntimeForm onnxruntime_form(const Graph& graph, const TargetDef& target, const Node& node);
/// A layer that only moves, picks or compares elements, and does so with codes.
bool onnxruntime_runs_on_codes(const Graph& graph, const TargetDef& target, const Node& node);

Result<std::vector<LayerForm>> explain_octet(const Graph& graph, const TargetDef& target);

} // namespace octet
