// SPDX-License-Identifier: Apache-2.0
// What a release of a runtime can read, where that bounds the files written for it.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

namespace octet {

struct RuntimeLimits {
  int64_t opset = std::numeric_limits<int64_t>::max();      ///< of ai.onnx, the highest it reads
  int64_t ir_version = std::numeric_limits<int64_t>::max(); ///< of ONNX files, the highest it reads
};

/// Of a target by name; no limits for those that are not known to have any.
RuntimeLimits runtime_limits(std::string_view target);

} // namespace octet
