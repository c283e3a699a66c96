// SPDX-License-Identifier: Apache-2.0
// Moves by tables of offsets and copies that turn tiles, against one element at a time.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/threads.h"
#include "kernels/kernel_test.h"
#include "runtime/kernels/move.h"
#include "runtime/kernels/strided.h"

namespace octet::kernels {
namespace {

using octet::test::Guarded;

using Tables = std::vector<std::vector<int64_t>>;

/// What plan_move and move promise, element by element.
template <typename T>
std::vector<T> moved(const Tables& from, const T* x, T fill) {
  std::vector<T> out = {};
  std::vector<size_t> at(from.size(), 0);
  int64_t count = 1;
  for (const auto& axis : from)
    count *= static_cast<int64_t>(axis.size());
  for (int64_t i = 0; i < count; ++i) {
    int64_t offset = 0;
    bool fills = false;
    for (size_t k = 0; k < from.size(); ++k) {
      fills = fills || from[k][at[k]] == kFill;
      offset += from[k][at[k]];
    }
    out.push_back(fills ? fill : x[offset]);
    for (size_t k = from.size(); k-- > 0;) {
      if (++at[k] < from[k].size()) break;
      at[k] = 0;
    }
  }
  return out;
}

template <typename T>
void expect_moved(const Tables& from, ParallelFor& parallel) {
  int64_t reach = 1;
  for (const auto& axis : from) {
    int64_t most = 0;
    for (const int64_t offset : axis)
      most = std::max(most, offset);
    reach += most;
  }
  std::vector<T> x(static_cast<size_t>(reach));
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<T>(i * 7 + 1);
  const T fill = 99;
  const std::vector<T> want = moved(from, x.data(), fill);
  Guarded<T> y(static_cast<int64_t>(want.size()), 1);
  move(plan_move(sizeof(T), from), x.data(), &fill, y.data(), parallel);
  ASSERT_TRUE(y.guards_intact());
  for (size_t i = 0; i < want.size(); ++i)
    ASSERT_EQ(y[static_cast<int64_t>(i)], want[i]) << "element " << i << " of " << want.size();
}

/// An axis of one of the kinds that operators make, of x's axis of `size` at `stride`.
std::vector<int64_t> random_axis(int64_t size, int64_t stride, std::mt19937& random) {
  std::vector<int64_t> out;
  const auto kind = random() % 7;
  for (int64_t i = 0; i < size; ++i) {
    if (kind == 1) out.push_back(i * stride);               // twice each
    if (kind == 2 && i % 3 == 0) continue;                  // some left out
    out.push_back((kind == 3 ? size - 1 - i : i) * stride); // backwards
  }
  for (uint64_t k = random() % 4; (kind == 4 || kind == 3) && k > 0; --k) {
    out.push_back(kFill);
    if (random() % 2 == 0) out.insert(out.begin(), kFill);
  }
  if (kind == 5) out.assign(3, 0);
  if (kind == 6 && random() % 4 == 0) out.clear();
  return out;
}

TEST(Move, EqualsOneElementAtATime) {
  std::mt19937 random(3);
  ThreadPool pool(3);
  for (int round = 0; round < 600; ++round) {
    Tables from(random() % 5);
    int64_t stride = 1;
    for (size_t i = from.size(); i-- > 0;) {
      const auto size = static_cast<int64_t>(1 + random() % (round % 10 == 0 ? 70 : 6));
      from[i] = random_axis(size, stride, random);
      stride *= size;
    }
    if (stride > 200000) continue;
    SCOPED_TRACE(round);
    expect_moved<uint8_t>(from, pool);
    expect_moved<uint16_t>(from, pool);
    expect_moved<uint32_t>(from, pool);
    expect_moved<uint64_t>(from, pool);
  }
}

TEST(Move, CutsLongRows) {
  ThreadPool pool(2);
  std::vector<int64_t> axis(100000);
  for (size_t i = 0; i < axis.size(); ++i)
    axis[i] = i % 1000 < 3 ? kFill : static_cast<int64_t>(axis.size() - i);
  expect_moved<uint32_t>({{0, 5}, axis}, pool);
}

template <typename T>
void expect_turned(int64_t planes, int64_t rows, int64_t columns, ParallelFor& parallel) {
  Guarded<T> x(planes * rows * columns, 1), y(planes * rows * columns, 2);
  for (int64_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<T>(i * 5 + 3);
  // x: [planes, columns, rows], y: [planes, rows, columns]
  const StridedCopy copy{.width = sizeof(T),
                         .sizes = {planes, rows, columns},
                         .from = {rows * columns, 1, rows},
                         .to = {rows * columns, columns, 1}};
  copy_strided(simplified(copy), x.data(), y.data(), parallel);
  ASSERT_TRUE(y.guards_intact());
  for (int64_t p = 0; p < planes; ++p)
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        ASSERT_EQ(y[(p * rows + i) * columns + j], x[(p * columns + j) * rows + i])
            << planes << " " << rows << " " << columns;
}

TEST(Strided, TurnsTilesOfAllSizes) {
  ThreadPool pool(2);
  for (const int64_t rows : {1, 3, 4, 5, 15, 16, 17, 33})
    for (const int64_t columns : {1, 3, 4, 7, 16, 31, 32, 48}) {
      expect_turned<uint8_t>(2, rows, columns, pool);
      expect_turned<uint16_t>(1, rows, columns, pool);
      expect_turned<uint32_t>(3, rows, columns, pool);
      expect_turned<uint64_t>(2, rows, columns, pool);
    }
}

/// Each element of x: [outer, size] `times` times, and each of its rows.
template <typename T>
void expect_repeated(int64_t outer, int64_t times, int64_t size, ParallelFor& parallel) {
  Guarded<T> x(outer * size, 1), elements(outer * size * times, 2), rows(outer * times * size, 3);
  for (int64_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<T>(i * 5 + 3);
  const StridedCopy each{.width = sizeof(T),
                         .sizes = {outer, size, times},
                         .from = {size, 1, 0},
                         .to = {size * times, times, 1}};
  const StridedCopy whole{.width = sizeof(T),
                          .sizes = {outer, times, size},
                          .from = {size, 0, 1},
                          .to = {times * size, size, 1}};
  copy_strided(simplified(each), x.data(), elements.data(), parallel);
  copy_strided(simplified(whole), x.data(), rows.data(), parallel);
  ASSERT_TRUE(elements.guards_intact() && rows.guards_intact());
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < size; ++i)
      for (int64_t k = 0; k < times; ++k) {
        const T want = x[o * size + i];
        ASSERT_EQ(elements[(o * size + i) * times + k], want)
            << outer << " " << size << " " << times;
        ASSERT_EQ(rows[(o * times + k) * size + i], want) << outer << " " << size << " " << times;
      }
}

TEST(Strided, RepeatsElementsAndRowsOfAllSizes) {
  ThreadPool pool(2);
  for (const int64_t times : {0, 1, 2, 3, 16, 31, 64, 257, 1000})
    for (const int64_t size : {0, 1, 2, 3, 7, 8, 33, 100}) {
      expect_repeated<uint8_t>(3, times, size, pool);
      expect_repeated<uint16_t>(2, times, size, pool);
      expect_repeated<uint32_t>(1, times, size, pool);
      expect_repeated<uint64_t>(2, times, size, pool);
    }
  expect_repeated<uint32_t>(2, 3, 2000, pool);   // rows longer than what is copied at once
  expect_repeated<uint16_t>(1, 200000, 1, pool); // one element by several threads
}

} // namespace
} // namespace octet::kernels
