// SPDX-License-Identifier: Apache-2.0
// Finds the mapping of an operator.
#pragma once

#include <string_view>

namespace octet::train {

struct TorchOp;

/// The mapping for domain and type ("" and "ai.onnx" are one), or null.
const TorchOp* find_mapping(std::string_view domain, std::string_view op_type);

} // namespace octet::train
