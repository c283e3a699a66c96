// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "onnx/source.h"

#include "octet/onnx.h"

namespace octet::onnx {

/// Adds an OperatorSetIdProto; "ai.onnx" is the domain "". Errors: another version of the domain is
/// there already.
Status read_opset(Bytes message, const Source& source, std::map<std::string, int64_t>& out);

/// load_onnx, and the locations of the external data that the model names.
struct LoadedModel {
  Graph graph;
  std::vector<std::string> external;
};
Result<LoadedModel> load_model(const std::string& path, const LoadOptions& options = {});

} // namespace octet::onnx
