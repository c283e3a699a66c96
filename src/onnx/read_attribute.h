// SPDX-License-Identifier: Apache-2.0
// AttributeProto to Attribute.
#pragma once

#include <string>
#include <utility>

#include "onnx/read_graph.h"

namespace octet::onnx {

/// An AttributeProto and its name. Subgraphs are read in `scope`.
Result<std::pair<std::string, Attribute>> read_attribute(Bytes message, GraphReader& scope);

} // namespace octet::onnx
