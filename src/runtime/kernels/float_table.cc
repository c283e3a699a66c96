// SPDX-License-Identifier: Apache-2.0
// Contract: float_table.h. A load of the code, one of the number and a store each outrun gathers.
#include "runtime/kernels/float_table.h"

#include <cstring>

#include "core/for_isa.h"

namespace octet::kernels {

void FloatTable::set(uint8_t code, float number) {
  uint8_t bytes[sizeof(float)];
  std::memcpy(bytes, &number, sizeof(float));
  numbers[code] = number;
  for (int i = 0; i < 4; ++i)
    planes[i][code] = bytes[i];
}

void float_lookup_scalar(const FloatTable& table, const uint8_t* codes, int64_t count, float* y) {
  const float* const numbers = table.numbers;
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const float a = numbers[codes[i]], b = numbers[codes[i + 1]];
    const float c = numbers[codes[i + 2]], d = numbers[codes[i + 3]];
    y[i] = a;
    y[i + 1] = b;
    y[i + 2] = c;
    y[i + 3] = d;
  }
  for (; i < count; ++i)
    y[i] = numbers[codes[i]];
}

FloatLookup* float_lookup_of(Isa isa) {
  return for_isa<float_lookup_scalar, Isa::kAvx512Vbmi, float_lookup_avx512vbmi>(isa);
}

} // namespace octet::kernels
