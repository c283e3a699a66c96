// SPDX-License-Identifier: Apache-2.0
// Names of operator domains.
#pragma once

namespace octet {

/// ONNX Runtime's own operators.
inline constexpr const char* kMicrosoft = "com.microsoft";
/// Models of classical machine learning.
inline constexpr const char* kMl = "ai.onnx.ml";
/// octet's own, the integer specification (docs/native-operators.md).
inline constexpr const char* kNative = "octet.native";

} // namespace octet
