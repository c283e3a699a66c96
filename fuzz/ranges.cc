// SPDX-License-Identifier: Apache-2.0
// Calibration caches and tables: whatever the bytes are, finite ranges or an error come out, and
// what was read can be written.
#include "octet/ranges.h"

#include <cmath>
#include <cstdlib>

#include "replay/seeds.h"

namespace octet::fuzz {

std::vector<std::string> seeds() {
  return {"TRT-8601-EntropyCalibration2\nx: 3c008912\na: b c: 3c000000\n", "x 1.5\nlayer 1/y 2e3\n",
          R"({"x": [-1, 2.5], "y": [0, 0]})"};
}

} // namespace octet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto format : {octet::RangeFormat::kJson, octet::RangeFormat::kTensorRt,
                            octet::RangeFormat::kOnnxRuntime}) {
    const auto ranges = octet::parse_ranges(text, format);
    if (!ranges.ok()) continue;
    for (const octet::TensorRange& r : *ranges)
      if (!std::isfinite(r.range.lo) || !std::isfinite(r.range.hi)) std::abort();
    if (!octet::format_ranges(*ranges, octet::RangeFormat::kJson).ok()) std::abort();
  }
  return 0;
}
