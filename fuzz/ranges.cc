// SPDX-License-Identifier: Apache-2.0
// Calibration caches and tables: whatever the bytes are, finite ranges or an error come out, and
// what was read can be written. A cache that is made ready for a version of TensorRT keeps its
// ranges.
#include "octet/ranges.h"

#include <cmath>
#include <cstdlib>

#include "replay/seeds.h"

#include "octet/engine_calibration.h"

namespace octet::fuzz {

std::vector<std::string> seeds() {
  return {"TRT-8601-EntropyCalibration2\nx: 3c008912\na: b c: 3c000000\n", "x 1.5\nlayer 1/y 2e3\n",
          "TRT-100100-MinMaxCalibration\r\nx: 3f800000\r\n", R"({"x": [-1, 2.5], "y": [0, 0]})"};
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
  using enum octet::EngineCalibrator;
  for (const octet::EngineCalibrator calibrator : {kEntropy, kMinMax}) {
    const auto ready = octet::ready_cache(text, calibrator, "10.1.0", {"x", "y"});
    if (!ready.ok()) continue;
    const auto before = octet::parse_ranges(text, octet::RangeFormat::kTensorRt);
    const auto after = octet::parse_ranges(ready->text, octet::RangeFormat::kTensorRt);
    if (!before.ok() || !after.ok() || *before != *after || ready->known < 1) std::abort();
    const auto reader = octet::calibrator_of_cache(ready->text);
    if (!reader.ok() || *reader != calibrator) std::abort();
  }
  return 0;
}
