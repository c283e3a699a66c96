// SPDX-License-Identifier: Apache-2.0
// How the layers of a graph run on a target.
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

/// How layers run, by target family.
Result<std::vector<LayerForm>> explain_tensorrt(const Graph& graph, const TargetDef& target);
Result<std::vector<LayerForm>> explain_onnxruntime(const Graph& graph, const TargetDef& target);
/// One layer alone. The graph has its types.
LayerForm onnxruntime_layer(const Graph& graph, const TargetDef& target, const Node& node);
Result<std::vector<LayerForm>> explain_octet(const Graph& graph, const TargetDef& target);

/// `Conv "c1"`, or the operator and its first output where the node has no name.
std::string label(const Graph& graph, const Node& node);

} // namespace octet
