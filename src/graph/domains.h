// SPDX-License-Identifier: Apache-2.0
// Names of operator domains.
#pragma once

namespace octet {

/// ONNX Runtime's own operators.
inline constexpr const char* kMicrosoft = "com.microsoft";
/// octet's own, the integer specification (docs/native-operators.md).
inline constexpr const char* kNative = "octet.native";

} // namespace octet
