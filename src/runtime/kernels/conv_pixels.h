// SPDX-License-Identifier: Apache-2.0
// The pixels of a chunk of a convolution by the taps of their windows that lie inside the image:
// those of the same taps are multiplied together, without what would meet the padding.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/kernels/buffer.h"
#include "runtime/kernels/conv_axis.h"
#include "runtime/kernels/conv_lines.h"

namespace octet::kernels {

/// What a tile of a product costs, in its steps of k.
struct TileCost {
  int64_t rows = 1;        ///< of a tile
  int64_t steps = 0;       ///< that it takes besides its own
  int64_t waited_rows = 1; ///< shorter tiles take as long as one of so many rows
  int64_t depth = 1;       ///< k of a step

  int64_t operator()(int64_t all, int64_t k) const {
    return Blocks(all, rows).count * steps + std::max(all, waited_rows) * Blocks(k, depth).count;
  }
};

/// Whether leaving out the taps in the padding is less work for `lines` output lines at a time:
/// pixels of which others have other taps are fewer in a tile.
inline bool skipping_pays(const ConvShape& s, int64_t lines, const TileCost& cost) {
  const Axis rows = rows_axis(s), columns = columns_axis(s);
  const int64_t in = s.group_in(), blocks = Blocks(s.out_h, lines).count;
  const int64_t images = std::max<int64_t>(lines / s.out_h, 1);
  int64_t skipped = 0;
  for (Range h = rows.same(0);; h = rows.same(h.end)) {
    // Lines of the same taps come in about so many chunks.
    const int64_t parts = std::clamp<int64_t>(h.count() / lines, 1, blocks);
    for (Range w = columns.same(0);; w = columns.same(w.end)) {
      const int64_t k = rows.taps(h.begin).count() * columns.taps(w.begin).count() * in;
      skipped += parts * cost(images * h.count() * w.count() / parts, k) / images;
      if (w.end == s.out_w) break;
    }
    if (h.end == s.out_h) break;
  }
  const int64_t padded = blocks * cost(s.out_h * s.out_w / blocks, s.k());
  return skipped < padded;
}

/// Pixels whose windows have the same taps.
struct SamePixels {
  Range taps_h, taps_w;
  int64_t first = 0, count = 0;
};

/// The pixels of some lines and columns of y, those of the same taps together: where the first tap
/// of each lies in x or in copied lines, and where each lies in y. In scratch memory of the chunk.
template <typename T>
class ChunkPixels {
 public:
  /// Pixels lie `step` places apart in y.
  ChunkPixels(const ConvShape& s, int64_t step, Range lines, Range columns, Scratch area)
      : s_(s), step_(step), lines_(lines), columns_(columns) {
    const auto most = static_cast<size_t>(lines.count() * columns.count());
    std::byte* memory =
        chunk_scratch(area, most * (sizeof(SamePixels) + sizeof(const T*) + sizeof(int64_t)));
    same_ = reinterpret_cast<SamePixels*>(memory);
    starts_ = reinterpret_cast<const T**>(same_ + most);
    places_ = reinterpret_cast<int64_t*>(starts_ + most);
  }

  /// All pixels with all taps; as each_window has them, of whole lines.
  void add_windows(const LinePlan& plan, const T* x, const T* copied) {
    count_ = lines_.count() * s_.out_w;
    same_[classes_++] = {{0, s_.kernel_h}, {0, s_.kernel_w}, 0, count_};
    const T** to = starts_;
    each_window<T>(s_, plan, x, copied, lines_, [&to](const T* start) { *to++ = start; });
    const int64_t first = lines_.begin * s_.out_w, step = step_, count = count_;
    int64_t* const places = places_;
    for (int64_t i = 0; i < count; ++i)
      places[i] = (first + i) * step;
  }

  /// Windows in x by the taps inside the image.
  void add_in_place(const T* x) {
    const Axis rows = rows_axis(s_);
    for (Range h = rows.same(0);; h = rows.same(h.end)) {
      add_lines(x, rows.taps(h.begin), h);
      if (h.end == s_.out_h) break;
    }
  }

  const T* const* starts(const SamePixels& same) const { return starts_ + same.first; }
  const int64_t* places(const SamePixels& same) const { return places_ + same.first; }
  int64_t count() const { return count_; }
  int64_t classes() const { return classes_; }
  const SamePixels* begin() const { return same_; }
  const SamePixels* end() const { return same_ + classes_; }

 private:
  /// Those of lines [h.begin, h.end) of each image.
  void add_lines(const T* x, Range taps_h, Range h) {
    const Axis axis = columns_axis(s_);
    for (Range w = axis.same(columns_.begin); w.begin < columns_.end; w = axis.same(w.end)) {
      w.end = std::min(w.end, columns_.end);
      SamePixels same{taps_h, axis.taps(w.begin), count_, 0};
      for (int64_t image = lines_.begin / s_.out_h; image * s_.out_h < lines_.end; ++image) {
        const int64_t first = image * s_.out_h;
        const int64_t end = std::min(first + h.end, lines_.end);
        for (int64_t line = std::max(first + h.begin, lines_.begin); line < end; ++line)
          add_line(x, same, line, w);
      }
      same.count = count_ - same.first;
      if (same.count > 0) same_[classes_++] = same;
      if (w.end == columns_.end) break;
    }
  }

  void add_line(const T* x, const SamePixels& same, int64_t line, Range w) {
    const int64_t image = line / s_.out_h, row = line % s_.out_h;
    const int64_t at_h = row * s_.stride_h - s_.pad_top + same.taps_h.begin * s_.dilation_h;
    const int64_t at_w = w.begin * s_.stride_w - s_.pad_left + same.taps_w.begin * s_.dilation_w;
    const bool none = same.taps_h.count() * same.taps_w.count() == 0;
    const T* start = none ? x : x + ((image * s_.in_h + at_h) * s_.in_w + at_w) * s_.in_c;
    const int64_t step = none ? 0 : s_.stride_w * s_.in_c;
    const int64_t place = (line * s_.out_w + w.begin) * step_;
    // Places could be members of this as well, for all that the compiler knows.
    const T** const starts = starts_ + count_;
    int64_t* const places = places_ + count_;
    const int64_t count = w.count(), place_step = step_;
    for (int64_t i = 0; i < count; ++i) {
      starts[i] = start + i * step;
      places[i] = place + i * place_step;
    }
    count_ += count;
  }

  const ConvShape& s_;
  int64_t step_;
  Range lines_, columns_;
  SamePixels* same_;
  const T** starts_;
  int64_t* places_;
  int64_t classes_ = 0, count_ = 0;
};

} // namespace octet::kernels
