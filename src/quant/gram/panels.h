// SPDX-License-Identifier: Apache-2.0
// Products of matrices in panels of eight columns, in double. The terms of a sum are added one after
// the other in the order of the depth, whatever the processor and however the depth is cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace octet {

constexpr int64_t kPanel = 8;

/// An index into a vector.
constexpr size_t place(int64_t index) {
  return static_cast<size_t>(index);
}

/// Columns rounded up to whole panels.
constexpr int64_t in_panels(int64_t columns) {
  return (columns + kPanel - 1) / kPanel * kPanel;
}

/// c[i][j] += sum over d of a[d][i] * b[d][j]; a and b are [depth][kPanel], c is [kPanel][kPanel].
void add_panel_product(int64_t depth, const double* a, const double* b, double* c);

/// A matrix [rows, columns] as panels: element (r, c) at ((c / 8) * rows + r) * 8 + c % 8, zeros
/// behind the last column.
std::vector<double> panels_of(std::span<const double> matrix, int64_t rows, int64_t columns);

} // namespace octet
