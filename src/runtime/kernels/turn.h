// SPDX-License-Identifier: Apache-2.0
// The part of a transposition that moves elements: a matrix is read along its rows and written along
// its columns, in blocks that fit into registers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace octet::kernels {

/// y[c * to_step + r] = x[r * from_step + c] for all r < rows, c < columns; steps in elements.
struct Turn {
  int64_t rows = 0, columns = 0;
  int64_t from_step = 0, to_step = 0;
};

/// `width`: bytes of an element, 1, 2, 4, 8 or 16.
void turn(const Turn& shape, int64_t width, const std::byte* x, std::byte* y);

} // namespace octet::kernels
