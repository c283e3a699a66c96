// SPDX-License-Identifier: Apache-2.0
// What users write in one word: targets with versions, calibrators, modes, element types, number
// formats, text data sets. An error, or a name that reads again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "data/text_spec.h"
#include "replay/seeds.h"

#include "octet/dtype.h"
#include "octet/number_format.h"
#include "octet/observer.h"
#include "octet/quantize.h"
#include "octet/target.h"

namespace octet::fuzz {

std::vector<std::string> seeds() {
  return {"tensorrt-10.1",
          "onnxruntime",
          "percentile:99.99",
          "moving-average:0.01",
          "entropy",
          "weight-only",
          "f8e4m3fn",
          "int4/32",
          "fp8-e4m3fn",
          "imdb:some/dir",
          "tsv:a.tsv?text=sentence&label=label"};
}

} // namespace octet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto target = octet::parse_target(text);
  if (target.ok() && !octet::parse_target(*target).ok()) std::abort();
  const auto mode = octet::parse_quant_mode(text);
  if (mode.ok() && octet::name(*mode) != text) std::abort();
  const auto type = octet::parse_dtype(text);
  if (type && octet::parse_dtype(octet::name(*type)) != type) std::abort();
  const auto format = octet::parse_number_format(text);
  if (format.ok() && octet::parse_number_format(octet::name(*format)).value() != *format)
    std::abort();
  static_cast<void>(octet::parse_calibrator(text).ok());
  static_cast<void>(octet::parse_text_spec(text).ok());
  return 0;
}
