// SPDX-License-Identifier: Apache-2.0
// Attribute to AttributeProto.
#pragma once

#include <string_view>

#include "onnx/write_graph.h"

namespace octet::onnx {

/// An AttributeProto; `names` are those of the graph that the node is in.
Result<Encoder> encode_attribute(std::string_view name,
                                 const Attribute& attribute,
                                 const Names& names,
                                 ExternalPlan* external);

} // namespace octet::onnx
