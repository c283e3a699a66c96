// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "onnx/source.h"

namespace octet::onnx {

/// Adds an OperatorSetIdProto; "ai.onnx" is the domain "". Errors: another version of the domain is
/// there already.
Status read_opset(Bytes message, const Source& source, std::map<std::string, int64_t>& out);

} // namespace octet::onnx
