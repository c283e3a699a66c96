// SPDX-License-Identifier: Apache-2.0
// Names of operator domains.
#pragma once

namespace octet {

/// ONNX Runtime's own operators.
inline constexpr const char* kMicrosoft = "com.microsoft";

} // namespace octet
