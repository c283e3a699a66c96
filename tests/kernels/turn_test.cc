// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <vector>

#include "runtime/kernels/turn.h"
#include <gtest/gtest.h>

namespace octet::kernels {
namespace {

/// Every size around the squares of 16, 8, 4 and 2 that registers hold, in matrices that lie wider
/// apart than they are, with what stands between untouched.
TEST(Turn, EveryElementGoesToItsPlaceAndNoOther) {
  for (const int64_t width : {1, 2, 4, 8, 16})
    for (int64_t rows = 0; rows <= 35; ++rows)
      for (const int64_t columns : {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 127, 128, 129, 145}) {
        const Turn shape{rows, columns, columns + 3, rows + 2};
        std::vector<std::byte> x(static_cast<size_t>((rows + 1) * shape.from_step * width));
        std::vector<std::byte> y(static_cast<size_t>((columns + 1) * shape.to_step * width),
                                 std::byte{0xa5});
        for (size_t i = 0; i < x.size(); ++i)
          x[i] = static_cast<std::byte>((i * 37 + i / 251) & 0xff);
        std::vector<std::byte> want = y;
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t c = 0; c < columns; ++c)
            std::memcpy(want.data() + (c * shape.to_step + r) * width,
                        x.data() + (r * shape.from_step + c) * width, static_cast<size_t>(width));
        turn(shape, width, x.data(), y.data());
        ASSERT_EQ(y, want) << rows << " x " << columns << " of " << width << " bytes";
      }
}

} // namespace
} // namespace octet::kernels
