// SPDX-License-Identifier: Apache-2.0
// The rows of x that a block of a product reads, wherever they lie: collected until the block is
// full, then run. A Block (igemm_tile.h, sgemm_tile.h) has Element, kMaxRows, `rows`, `count`, the
// place `row` of its first row in y, and a run_block() that takes it.
#pragma once

#include <algorithm>
#include <cstdint>

namespace octet::kernels {

/// For rows one by one.
template <typename Block>
class RowCollector {
 public:
  using Element = typename Block::Element;

  /// The first row comes to `block.row` of y; `rows` and `count` are set here.
  explicit RowCollector(Block& block) : block_(block) {
    block_.rows = starts_;
    block_.count = 0;
  }
  RowCollector(const RowCollector&) = delete;
  RowCollector& operator=(const RowCollector&) = delete;

  void add(const Element* start) {
    starts_[block_.count++] = start;
    if (block_.count == Block::kMaxRows) flush();
  }
  /// Runs what is left; to be called after the last row.
  void flush() {
    if (block_.count > 0) run_block(block_);
    block_.row += block_.count;
    block_.count = 0;
  }

 private:
  Block& block_;
  const Element* starts_[Block::kMaxRows];
};

/// `count` rows that are `stride` elements apart, in blocks made of `block` as RowCollector does.
template <typename Block>
void run_rows(Block& block, const typename Block::Element* first, int64_t stride, int64_t count) {
  const typename Block::Element* starts[Block::kMaxRows];
  block.rows = starts;
  for (; count > 0; count -= block.count) {
    block.count = std::min(Block::kMaxRows, count);
    for (int64_t i = 0; i < block.count; ++i, first += stride) {
      starts[i] = first;
    }
    run_block(block);
    block.row += block.count;
  }
  block.rows = nullptr;
}

} // namespace octet::kernels
