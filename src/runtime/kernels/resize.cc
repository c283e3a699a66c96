// SPDX-License-Identifier: Apache-2.0
// A row of x is interpolated along its columns once for all rows of y that a chunk makes of it.
#include "runtime/kernels/resize.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/for_isa.h"
#include "core/threads.h"
#include "runtime/kernels/buffer.h"

namespace octet::kernels {
namespace {

constexpr double kTapNs = 0.15;
constexpr double kColumnNs = 0.6;
constexpr double kRowNs = 20.0;

using MixRows = void(const float* const*, const float*, int64_t, int64_t, float*);
using MixColumns = void(const ResizeTaps&, const float*, float*);

void mix_rows_scalar(
    const float* const* rows, const float* weights, int64_t taps, int64_t count, float* y) {
  for (int64_t i = 0; i < count; ++i) {
    float r = taps == 0 ? 0.0F : weights[0] * rows[0][i];
    for (int64_t k = 1; k < taps; ++k)
      r = std::fma(weights[k], rows[k][i], r);
    y[i] = r;
  }
}

void mix_columns_scalar(const ResizeTaps& taps, const float* x, float* y) {
  for (int64_t p = 0; p < taps.places; ++p) {
    float r = 0.0F;
    for (int64_t k = 0; k < taps.most; ++k) {
      const auto at = static_cast<size_t>(k * taps.places + p);
      const float weight = taps.weight[at];
      if (weight == 0) break;
      const float v = x[taps.index[at]];
      r = k == 0 ? weight * v : std::fma(weight, v, r);
    }
    y[p] = r;
  }
}

/// The taps of one place as mix_rows takes them.
struct Place {
  const float** from;
  float* weight;
  int64_t count = 0;
};

/// Of taps whose index counts `step` elements.
void find_place(const ResizeTaps& taps, int64_t place, const float* x, int64_t step, Place& out) {
  out.count = 0;
  for (int64_t k = 0; k < taps.most; ++k) {
    const auto at = static_cast<size_t>(k * taps.places + place);
    if (taps.weight[at] == 0) break;
    out.from[k] = x + taps.index[at] * step;
    out.weight[k] = taps.weight[at];
    ++out.count;
  }
}

/// The most rows of x from the first to the last that a place reads: more than its taps where those
/// between have no weight.
int64_t rows_spanned(const ResizeTaps& taps) {
  int64_t most = 1;
  for (int64_t p = 0; p < taps.places; ++p) {
    int64_t first = taps.index[static_cast<size_t>(p)], last = first;
    for (int64_t k = 1; k < taps.most; ++k) {
      const auto at = static_cast<size_t>(k * taps.places + p);
      if (taps.weight[at] == 0) break;
      first = std::min<int64_t>(first, taps.index[at]);
      last = std::max<int64_t>(last, taps.index[at]);
    }
    most = std::max(most, last - first + 1);
  }
  return most;
}

/// What a chunk needs beside x and y.
struct ChunkMemory {
  ChunkMemory(const ResizePass& pass, int64_t slots) {
    const auto most = static_cast<size_t>(std::max(pass.rows.most, pass.columns.most));
    const auto held_count = static_cast<size_t>(slots);
    std::byte* at = chunk_scratch(Scratch::kRows, held_count * sizeof(int64_t) +
                                                      2 * most * (sizeof(float*) + sizeof(float)));
    held = reinterpret_cast<int64_t*>(at);
    at += held_count * sizeof(int64_t);
    row.from = reinterpret_cast<const float**>(at);
    column.from = row.from + most;
    row.weight = reinterpret_cast<float*>(at + 2 * most * sizeof(float*));
    column.weight = row.weight + most;
    lines = reinterpret_cast<float*>(chunk_scratch(
        Scratch::kRowsFloat, held_count * static_cast<size_t>(pass.out_row) * sizeof(float)));
    std::fill_n(held, slots, int64_t{-1});
  }
  int64_t* held; ///< by slot: the row of x that its line was made of
  float* lines;  ///< rows of x interpolated along their columns
  Place row, column;
};

class Resizer {
 public:
  Resizer(const ResizePass& pass, Isa isa)
      : pass_(pass),
        slots_(pass.rows.places > 0 && pass.columns.places > 0 ? rows_spanned(pass.rows) : 0),
        mix_rows_(
            for_isa<mix_rows_scalar, Isa::kAvx2, mix_rows_avx2, Isa::kAvx512, mix_rows_avx512>(
                isa)),
        mix_columns_(for_isa<mix_columns_scalar,
                             Isa::kAvx2,
                             mix_columns_avx2,
                             Isa::kAvx512,
                             mix_columns_avx512>(isa)) {}

  /// Rows [begin, end) of y, counted through all of `outer`.
  void rows(const float* x, int64_t begin, int64_t end, float* y) const {
    ChunkMemory memory(pass_, slots_);
    for (int64_t r = begin; r < end; ++r) {
      const int64_t image = r / pass_.out_rows, place = r % pass_.out_rows;
      const float* source = x + image * pass_.in_rows * pass_.in_row;
      float* out = y + r * pass_.out_row;
      if (pass_.rows.places == 0) {
        columns(source + place * pass_.in_row, memory.column, out);
        continue;
      }
      find_place(pass_.rows, place, source, pass_.in_row, memory.row);
      for (int64_t k = 0; slots_ > 0 && k < memory.row.count; ++k)
        memory.row.from[k] = line_of(x, memory.row.from[k], memory);
      mix_rows_(memory.row.from, memory.row.weight, memory.row.count, pass_.out_row, out);
    }
  }

 private:
  /// The row of x at `from`, interpolated along its columns.
  const float* line_of(const float* x, const float* from, ChunkMemory& m) const {
    const int64_t row = (from - x) / pass_.in_row, slot = row % slots_;
    float* line = m.lines + slot * pass_.out_row;
    if (m.held[slot] != row) columns(from, m.column, line);
    m.held[slot] = row;
    return line;
  }

  void columns(const float* x, Place& taps, float* y) const {
    if (pass_.run == 1) return mix_columns_(pass_.columns, x, y);
    for (int64_t p = 0; p < pass_.columns.places; ++p) {
      find_place(pass_.columns, p, x, pass_.run, taps);
      mix_rows_(taps.from, taps.weight, taps.count, pass_.run, y + p * pass_.run);
    }
  }

  const ResizePass& pass_;
  int64_t slots_; ///< lines that are held for the rows to come; 0: rows are not made of lines
  MixRows* mix_rows_;
  MixColumns* mix_columns_;
};

} // namespace

void resize(const ResizePass& pass, const float* x, float* y, Isa isa, ParallelFor& parallel) {
  const auto taps = static_cast<double>(pass.rows.most);
  const double row = static_cast<double>(pass.out_row) *
                     (kTapNs * taps + kColumnNs * static_cast<double>(pass.columns.most));
  const Resizer resizer(pass, isa);
  parallel.run(pass.outer * pass.out_rows, grain_for(row + kRowNs),
               [&](int64_t begin, int64_t end) { resizer.rows(x, begin, end, y); });
}

} // namespace octet::kernels
