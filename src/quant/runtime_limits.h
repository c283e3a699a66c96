// SPDX-License-Identifier: Apache-2.0
// What a release of a runtime can read and fuse, where that bounds the files written for it.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

namespace octet {

struct RuntimeLimits {
  int64_t opset = std::numeric_limits<int64_t>::max();      ///< of ai.onnx, the highest it reads
  int64_t ir_version = std::numeric_limits<int64_t>::max(); ///< of ONNX files, the highest it reads
  /// Whether a product with a float bias still becomes integer; else the bias is stored as int32.
  bool float_bias = true;
};

/// Of a target by name; no limits for those that are not known to have any. Defined in
/// src/targets/.
RuntimeLimits runtime_limits(std::string_view target);

} // namespace octet
