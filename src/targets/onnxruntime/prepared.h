// SPDX-License-Identifier: Apache-2.0
// The graph that ONNX Runtime's rewriting of Q/DQ sees: before it, on its CPU provider, what hands on
// what comes in is gone, and a Pad of zeros is part of the Conv or pool behind it. Source:
// docs/targets.md 8 (measured).
#pragma once

#include <optional>
#include <vector>

#include "octet/graph.h"

namespace octet {

struct TargetDef;

/// The graph without what is gone by then; what stays has its ids and types. Nullopt: it is the graph
/// as it stands, on other targets always.
std::optional<Graph> onnxruntime_prepared(const Graph& graph, const TargetDef& target);

/// A Pad that the Conv or pool behind it takes over.
struct OnnxRuntimeMergedPad {
  const Node* pad = nullptr;
  std::vector<int64_t> pads; ///< of the layer then: all begins, all ends
};
/// Of a layer; nullopt where nothing is merged.
std::optional<OnnxRuntimeMergedPad>
onnxruntime_merged_pad(const Graph& graph, const Uses& uses, const Node& layer);
/// Why a layer with such a Pad is another one then; empty: it is the same.
std::string onnxruntime_misread_pad(const Graph& graph,
                                    const TargetDef& target,
                                    const Node& layer,
                                    const OnnxRuntimeMergedPad& merged);

} // namespace octet
