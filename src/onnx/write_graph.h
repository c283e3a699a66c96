// SPDX-License-Identifier: Apache-2.0
// Graph to GraphProto.
#pragma once

#include <string>
#include <vector>

#include "onnx/write_tensor.h"

#include "octet/graph.h"

namespace octet::onnx {

/// A GraphProto, nodes producers first. Errors: a cycle. `external` may be null.
Result<Encoder> encode_graph(const Graph& graph, ExternalPlan* external);

/// The names that a graph's values are written under: captures have the name of the value outside,
/// and what would hide it here gets another.
using Names = std::vector<std::string>;
Result<Encoder> encode_graph(const Graph& graph, const Names* outer, ExternalPlan* external);

} // namespace octet::onnx
