// SPDX-License-Identifier: Apache-2.0
// A row of x is interpolated along its columns once for all rows of y that a chunk makes of it.
#include "runtime/kernels/resize.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "core/for_isa.h"
#include "core/threads.h"
#include "runtime/kernels/buffer.h"
#include "runtime/kernels/codes.h"
#include "runtime/kernels/cut.h"

namespace octet::kernels {
namespace {

constexpr double kTapNs = 0.15;
constexpr double kColumnNs = 0.6;
constexpr double kRowNs = 20.0;
constexpr double kCodedNs = 0.15;
constexpr int64_t kMixedTogether = 1024; ///< elements
constexpr int64_t kRowsOfLines = 4;      ///< lines of x that a chunk makes rows of, about
constexpr int64_t kChunks = 8;           ///< that there are in any case

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

/// Calls `use` with the index of each tap of a place; the weights and their number are noted.
template <typename Use>
void each_tap(const ResizeTaps& taps, int64_t place, Place& out, Use&& use) {
  out.count = 0;
  for (int64_t k = 0; k < taps.most; ++k) {
    const auto at = static_cast<size_t>(k * taps.places + place);
    if (taps.weight[at] == 0) break;
    out.from[k] = use(taps.index[at]);
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

int64_t lanes_of(Isa isa) {
  return isa.has(Isa::kAvx512) ? 16 : isa.has(Isa::kAvx2) ? 8 : 1;
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
    const int64_t in = pass.x.coded() ? round_up(pass.in_row, 16) : 0;
    const int64_t out = pass.y.coded() ? pass.out_row : 0;
    numbers = reinterpret_cast<float*>(
        chunk_scratch(Scratch::kTile, static_cast<size_t>(in + out) * sizeof(float)));
    result = numbers + in;
    std::fill_n(held, slots, int64_t{-1});
  }
  int64_t* held;  ///< by slot: the row of x that its line was made of
  float* lines;   ///< rows of x as floats, interpolated along their columns
  float* numbers; ///< a row of x, where that is codes
  float* result;  ///< a row of y before it becomes codes
  Place row, column;
};

class Resizer {
 public:
  Resizer(const ResizePass& pass, Isa isa)
      : pass_(pass), slots_(pass.rows.places > 0 && (pass.columns.places > 0 || pass.x.coded())
                                ? rows_spanned(pass.rows)
                                : 0),
        mix_rows_(
            for_isa<mix_rows_scalar, Isa::kAvx2, mix_rows_avx2, Isa::kAvx512, mix_rows_avx512>(
                isa)),
        mix_columns_(for_isa<mix_columns_scalar,
                             Isa::kAvx2,
                             mix_columns_avx2,
                             Isa::kAvx512,
                             mix_columns_avx512>(isa)),
        vectors_(round_up(pass.run, lanes_of(isa))), codes_(code_kernels_of(isa)) {}

  /// Rows [begin, end) of y, counted through all of `outer`.
  void rows(const void* x, int64_t begin, int64_t end, void* y) const {
    ChunkMemory memory(pass_, slots_);
    for (int64_t r = begin; r < end; ++r) {
      float* out = pass_.y.coded() ? memory.result : static_cast<float*>(y) + r * pass_.out_row;
      const int64_t image = r / pass_.out_rows, place = r % pass_.out_rows;
      const int64_t first = image * pass_.in_rows;
      if (pass_.rows.places == 0) {
        line(x, first + place, memory, out);
      } else {
        each_tap(pass_.rows, place, memory.row, [&](int64_t row) {
          return slots_ > 0 ? held_line(x, first + row, memory)
                            : static_cast<const float*>(x) + (first + row) * pass_.in_row;
        });
        if (pass_.y.coded()) {
          mix_codes(memory.row, out, static_cast<uint8_t*>(y) + r * pass_.out_row);
          continue;
        }
        mix_rows_(memory.row.from, memory.row.weight, memory.row.count, pass_.out_row, out);
      }
      if (pass_.y.coded())
        quantize(out, pass_.out_row, static_cast<uint8_t*>(y) + r * pass_.out_row);
    }
  }

 private:
  /// A row of x interpolated along its columns, which is kept.
  const float* held_line(const void* x, int64_t row, ChunkMemory& m) const {
    const int64_t slot = row % slots_;
    float* to = m.lines + slot * pass_.out_row;
    if (m.held[slot] != row) line(x, row, m, to);
    m.held[slot] = row;
    return to;
  }

  void line(const void* x, int64_t row, ChunkMemory& m, float* to) const {
    const bool turns = pass_.columns.places > 0;
    if (!pass_.x.coded()) {
      const float* from = static_cast<const float*>(x) + row * pass_.in_row;
      if (turns) return columns(from, m.column, to);
      std::copy_n(from, pass_.in_row, to);
      return;
    }
    float* numbers = turns ? m.numbers : to;
    const auto* codes = static_cast<const uint8_t*>(x) + row * pass_.in_row;
    codes_.dequantize(reading(pass_.x, codes, pass_.in_row, numbers), 0, pass_.in_row);
    if (turns) columns(numbers, m.column, to);
  }

  void columns(const float* x, Place& taps, float* y) const {
    if (pass_.run == 1) return mix_columns_(pass_.columns, x, y);
    for (int64_t p = 0; p < pass_.columns.places; ++p) {
      int64_t last = p;
      each_tap(pass_.columns, p, taps, [&](int64_t at) {
        last = std::max(last, at);
        return x + at * pass_.run;
      });
      // Whole vectors: what lies behind a run is made after it.
      const bool fits =
          p * pass_.run + vectors_ <= pass_.out_row && last * pass_.run + vectors_ <= pass_.in_row;
      mix_rows_(taps.from, taps.weight, taps.count, fits ? vectors_ : pass_.run, y + p * pass_.run);
    }
  }

  /// A row of codes, a few at a time by way of the same floats, which the first cache keeps.
  void mix_codes(Place& taps, float* numbers, uint8_t* to) const {
    for (int64_t at = 0; at < pass_.out_row; at += kMixedTogether) {
      const int64_t count = std::min(kMixedTogether, pass_.out_row - at);
      mix_rows_(taps.from, taps.weight, taps.count, count, numbers);
      quantize(numbers, count, to + at);
      for (int64_t k = 0; k < taps.count; ++k)
        taps.from[k] += count;
    }
  }

  void quantize(const float* numbers, int64_t count, uint8_t* to) const {
    codes_.quantize(writing(pass_.y, numbers, count, to), 0, count);
  }

  const ResizePass& pass_;
  int64_t slots_; ///< lines that are held for the rows to come; 0: rows are mixed where they lie
  MixRows* mix_rows_;
  MixColumns* mix_columns_;
  int64_t vectors_; ///< elements of a run in whole vectors
  CodeKernels codes_;
};

} // namespace

void resize(const ResizePass& pass, const void* x, void* y, Isa isa, ParallelFor& parallel) {
  if (pass.out_row == 0) return; // an axis that becomes empty has no places either
  const int64_t all = pass.outer * pass.out_rows;
  const auto taps = static_cast<double>(pass.rows.most);
  const double coded = (pass.x.coded() ? kCodedNs : 0.0) + (pass.y.coded() ? kCodedNs : 0.0);
  const double row = static_cast<double>(pass.out_row) *
                     (coded + kTapNs * taps + kColumnNs * static_cast<double>(pass.columns.most));
  const Resizer resizer(pass, isa);
  // Lines are held within a chunk alone: each should serve most of the rows that are made of it.
  const int64_t rows_of_line = Blocks(pass.out_rows, std::max<int64_t>(pass.in_rows, 1)).count;
  const int64_t served = std::min(kRowsOfLines * rows_of_line, Blocks(all, kChunks).count);
  parallel.run(all, std::max(grain_for(row + kRowNs), served),
               [&](int64_t begin, int64_t end) { resizer.rows(x, begin, end, y); });
}

} // namespace octet::kernels
