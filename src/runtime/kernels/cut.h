// SPDX-License-Identifier: Apache-2.0
// How a product of rows and panels of columns is cut into chunks: by shape alone, never by the
// number of threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/threads.h"
#include "runtime/kernels/buffer.h"

namespace octet::kernels {

struct Range {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t count() const { return end - begin; }
};

/// Blocks of `size`, of which the last may be shorter.
struct Blocks {
  int64_t total = 0;
  int64_t size = 1;
  int64_t count = 0;

  Blocks() = default;
  Blocks(int64_t all, int64_t each) : total(all), size(each), count((all + each - 1) / each) {}
  /// The most that a block has.
  int64_t longest() const { return std::min(size, total); }
  Range operator[](int64_t i) const { return {i * size, std::min((i + 1) * size, total)}; }
};

/// Of about equal size up to about `limit`, in whole tiles of `tile`. `total` is at least 1.
inline Blocks even_blocks(int64_t total, int64_t limit, int64_t tile) {
  const int64_t count = Blocks(total, limit).count;
  return {total, round_up(Blocks(total, count).count, tile)};
}

/// Chunks of a block of rows and a block of panels, those of the same rows one after another.
struct Cut {
  Blocks rows;
  Blocks panels;
  int64_t grain = 1; ///< chunks that are worth a thread's while together

  int64_t chunks() const { return rows.count * panels.count; }
  Range rows_of(int64_t chunk) const { return rows[chunk / panels.count]; }
  Range panels_of(int64_t chunk) const { return panels[chunk % panels.count]; }
};

/// What a chunk costs; only sets how much work it has.
struct ChunkCost {
  double panel_ns = 0.0;       ///< products of a block of rows and one panel
  double rows_ns = 0.0;        ///< what each chunk does to its rows first
  int64_t min_panels = 1;      ///< for fewer, that would be noticeable
  int64_t panels_together = 1; ///< that tiles take at a time
};

/// The least panels of a chunk for which what is done to its rows takes at most `part` of their products.
inline int64_t panels_worth(double rows_ns, double panel_ns, double part) {
  constexpr double kMost = 1 << 20;
  return panel_ns > 0.0 ? static_cast<int64_t>(std::min(rows_ns / panel_ns / part, kMost)) : 1;
}

/// Chunks of as few of the `panels` as are worth a thread's while.
inline Cut cut_panels(Blocks rows, int64_t panels, const ChunkCost& cost) {
  const int64_t wanted =
      round_up(std::max(grain_for(cost.panel_ns), cost.min_panels), cost.panels_together);
  Cut cut{rows, {panels, std::clamp<int64_t>(wanted, 1, panels)}};
  cut.grain = grain_for(cost.panel_ns * static_cast<double>(cut.panels.size) + cost.rows_ns);
  return cut;
}

} // namespace octet::kernels
