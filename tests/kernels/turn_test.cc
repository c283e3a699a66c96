// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <vector>

#include "runtime/kernels/turn.h"
#include <gtest/gtest.h>

namespace octet::kernels {
namespace {

/// Whether every element goes to its place, and what stands between is untouched.
::testing::AssertionResult turns(const Turn& shape, int64_t width) {
  std::vector<std::byte> x(static_cast<size_t>((shape.rows + 1) * shape.from_step * width));
  std::vector<std::byte> y(static_cast<size_t>((shape.columns + 1) * shape.to_step * width),
                           std::byte{0xa5});
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<std::byte>((i * 37 + i / 251) & 0xff);
  std::vector<std::byte> want = y;
  for (int64_t r = 0; r < shape.rows; ++r)
    for (int64_t c = 0; c < shape.columns; ++c)
      std::memcpy(want.data() + (c * shape.to_step + r) * width,
                  x.data() + (r * shape.from_step + c) * width, static_cast<size_t>(width));
  turn(shape, width, x.data(), y.data());
  if (y == want) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << shape.rows << " x " << shape.columns << " of " << width << " bytes";
}

/// Every size around the squares of 16, 8, 4 and 2 that registers hold, in matrices that lie wider
/// apart than they are.
TEST(Turn, EveryElementGoesToItsPlaceAndNoOther) {
  for (const int64_t width : {1, 2, 4, 8, 16})
    for (int64_t rows = 0; rows <= 35; ++rows)
      for (const int64_t columns : {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 127, 128, 129, 145})
        ASSERT_TRUE(turns({rows, columns, columns + 3, rows + 2}, width));
}

/// Lines whose distance is a power of two go through whole lines of the cache.
TEST(Turn, LinesThatShareTheirPlacesInTheCache) {
  for (const int64_t width : {1, 2, 4, 8, 16})
    for (const int64_t bytes : {512, 2048})
      for (const int64_t rows : {7, 8, 15, 16, 33, 64, 131})
        for (const int64_t columns : {1, 8, 16, 63, 64, 65, 130, 200})
          if (rows <= bytes / width) {
            ASSERT_TRUE(turns({rows, columns, columns + 3, bytes / width}, width));
          }
}

} // namespace
} // namespace octet::kernels
