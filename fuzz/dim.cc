// SPDX-License-Identifier: Apache-2.0
// The text of dimensions: an error, or a dim that prints and parses back to itself.
#include "octet/dim.h"

#include <cstdlib>

#include "replay/seeds.h"

namespace octet::fuzz {

std::vector<std::string> seeds() {
  return {"N",
          "?",
          "2*batch + seq - 3",
          "-9223372036854775808",
          "\"a \\\" b\"*12*x*x",
          "floor((3*H + 1)/4)*2 - 1",
          "floor(floor(floor(x*2/3)*4/5)*6/7)"};
}

} // namespace octet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto dim = octet::Dim::parse(text);
  if (!dim.ok() || !dim->is_known()) return 0;
  const std::string printed = dim->text();
  const auto again = octet::Dim::parse(printed);
  // Quoting may make the printed form longer than the limit.
  if (!again.ok() && printed.size() <= 4096) std::abort();
  if (again.ok() && !(*again == *dim)) std::abort();
  return 0;
}
