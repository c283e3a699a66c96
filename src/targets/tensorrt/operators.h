// SPDX-License-Identifier: Apache-2.0
// The operators that TensorRT's ONNX parser imports, by version (major * 100 + minor). It looks
// them up by type alone: the domain does not matter. Source: the importers defined in the branches
// 8.5-GA to 10.1-GA of onnx/onnx-tensorrt, its change log for later ones, and docs/targets.md 7.
#pragma once

#include <optional>
#include <string_view>

namespace octet {

/// The first version from 8.5 on that imports operators of this type; nullopt: none that is known.
std::optional<int> tensorrt_operator_since(std::string_view op_type);
bool tensorrt_imports(std::string_view op_type, int version);

} // namespace octet
