// SPDX-License-Identifier: Apache-2.0
#include "quant/gram/panels.h"

#include <cstring>

#include "core/for_isa.h"

namespace octet {

namespace {

using Four = double __attribute__((vector_size(32)));

/// Half of the rows of c at a time: as many sums as registers hold.
[[gnu::always_inline]] inline void
multiply(int64_t depth, const double* a, const double* b, double* c) {
  constexpr int64_t kRows = 4;
  for (int64_t first = 0; first < kPanel; first += kRows) {
    Four sums[kRows][2];
    std::memcpy(sums, c + first * kPanel, sizeof sums);
    for (int64_t d = 0; d < depth; ++d) {
      Four right[2];
      std::memcpy(right, b + d * kPanel, sizeof right);
      const double* left = a + d * kPanel + first;
      for (int64_t i = 0; i < kRows; ++i) {
        const Four x = {left[i], left[i], left[i], left[i]};
        sums[i][0] = sums[i][0] + x * right[0];
        sums[i][1] = sums[i][1] + x * right[1];
      }
    }
    std::memcpy(c + first * kPanel, sums, sizeof sums);
  }
}

using Product = void (*)(int64_t depth, const double* a, const double* b, double* c);

void portable(int64_t depth, const double* a, const double* b, double* c) {
  multiply(depth, a, b, c);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void wide(int64_t depth, const double* a, const double* b, double* c) {
  multiply(depth, a, b, c);
}
#endif

Product best_product() {
  const Result<Isa> isa = selected_isa();
#if defined(__x86_64__)
  return for_isa<&portable, Isa::kAvx2, &wide>(isa.ok() ? *isa : Isa::kScalar);
#else
  return for_isa<&portable>(isa.ok() ? *isa : Isa::kScalar);
#endif
}

} // namespace

void add_panel_product(int64_t depth, const double* a, const double* b, double* c) {
  static const Product kProduct = best_product();
  kProduct(depth, a, b, c);
}

std::vector<double> panels_of(std::span<const double> matrix, int64_t rows, int64_t columns) {
  std::vector<double> out(static_cast<size_t>(in_panels(columns) * rows));
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      out[static_cast<size_t>(((c / kPanel) * rows + r) * kPanel + c % kPanel)] =
          matrix[static_cast<size_t>(r * columns + c)];
  return out;
}

} // namespace octet
