// SPDX-License-Identifier: Apache-2.0
// Elements of x at places that are known before the run: Pad, Tile, DepthToSpace, nearest Resize.
//   y[i, j, ...] = x[from_0[i] + from_1[j] + ...], or the fill where one of them says so.
#pragma once

#include <cstdint>
#include <vector>

namespace octet {
class ParallelFor;
}

namespace octet::kernels {

/// Instead of an offset into x: the fill.
inline constexpr int64_t kFill = -1;

/// Neighbours of a row of y: `count` elements of x from `from` on, `step` apart, or the fill.
struct MoveRun {
  int64_t to = 0;
  int64_t from = 0; ///< in elements of x, kFill for the fill
  int64_t step = 1;
  int64_t count = 0;
};

/// y is rows after one another. Those of kRuns copy run by run, others element by element.
struct MovePlan {
  enum class Rows : uint8_t { kRuns, kTable };
  int64_t width = 4; ///< bytes of an element: 1, 2, 4, 8 or 16
  Rows rows = Rows::kRuns;
  std::vector<MoveRun> runs;
  std::vector<int64_t> table;              ///< offsets of the elements of a row
  bool table_fills = false;                ///< some of them are kFill
  std::vector<std::vector<int64_t>> outer; ///< offsets along the axes before the row
  int64_t row_length = 1;
  int64_t row_count = 1;
};

/// `from`: for each axis of y the offset that each place along it adds, kFill or not negative.
/// Neighbouring axes are joined where that makes longer runs.
MovePlan plan_move(int64_t width, std::vector<std::vector<int64_t>> from);

/// `fill`: one element; may be null where no offset is kFill. x may be null where all are.
void move(const MovePlan& plan, const void* x, const void* fill, void* y, ParallelFor& parallel);

} // namespace octet::kernels
