// SPDX-License-Identifier: Apache-2.0
// Packing, copied lines and driver of the depthwise convolution (depthwise.h).
#include "runtime/kernels/depthwise.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/for_isa.h"
#include "core/threads.h"

namespace octet::kernels {
namespace {

constexpr double kProductsPerNs = 30.0;
constexpr double kElementNs = 0.1;
// Of the weights' period in elements; beyond it each pixel starts a block.
constexpr int64_t kLongPeriod = 4096;
constexpr int64_t kTileRowsOfSums = 32;

using RunFn = void (*)(const DepthwiseRun&);

DepthwiseForm form_of(Isa isa) {
  constexpr DepthwiseForm kNone{};
  return for_isa<kNone, Isa::kAvx2, kDepthwiseAvx2, Isa::kAvx512Vnni, kDepthwiseAvx512Vnni>(isa);
}

/// The element of a block that stands at place `at`.
int64_t element_at(const DepthwiseForm& form, int64_t at) {
  const int64_t quarter = at / (form.elements / 4);
  const int64_t rest = at % (form.elements / 4);
  return rest / 4 * 16 + quarter * 4 + rest % 4;
}

/// Where the taps of one layer lie in copied lines.
struct Lines {
  int64_t phases = 0; ///< columns of a line that a stride keeps apart
  int64_t pitch = 0;  ///< bytes from one phase to the next
  int64_t rows = 0;   ///< lines that are kept

  explicit Lines(const ConvShape& s) {
    const int64_t reach = (s.kernel_w - 1) * s.dilation_w;
    phases = std::min(s.stride_w, reach + 1);
    pitch = (s.out_w + reach / s.stride_w) * s.in_c;
    rows = std::min((s.kernel_h - 1) * s.dilation_h + 1, s.in_h);
  }
  int64_t line_bytes() const { return phases * pitch; }
};

/// One line of an image with its padding, phase after phase.
void copy_phases(const IconvArgs& args, const Lines& lines, const uint8_t* line, uint8_t* to) {
  const ConvShape& s = args.shape;
  const auto pad = static_cast<uint8_t>(args.x_zero_point);
  const uint8_t* end = line + s.in_w * s.in_c;
  uint8_t* out = to;
  for (int64_t phase = 0; phase < lines.phases; ++phase) {
    const int64_t count = lines.pitch / s.in_c;
    const auto column = [&](int64_t i) { return i * s.stride_w + phase - s.pad_left; };
    int64_t i = 0;
    for (; i < count && column(i) < 0; ++i, out += s.in_c)
      std::memset(out, pad, static_cast<size_t>(s.in_c));
    if (s.stride_w == 1 && column(i) < s.in_w) {
      const int64_t some = std::min(count - i, s.in_w - column(i));
      std::memcpy(out, line + column(i) * s.in_c, static_cast<size_t>(some * s.in_c));
      i += some;
      out += some * s.in_c;
    }
    for (; i < count && column(i) < s.in_w; ++i, out += s.in_c)
      copy_run(line + column(i) * s.in_c, end, s.in_c, out);
    for (; i < count; ++i, out += s.in_c)
      std::memset(out, pad, static_cast<size_t>(s.in_c));
  }
}

/// Whether the kernel's own epilogue is that of the layer.
bool writes_directly(const IconvArgs& args) {
  const YType type = args.epilogue.type;
  return args.columns->bounded && args.epilogue.residual == nullptr &&
         (type == YType::kInt8 || type == YType::kUint8);
}

/// What one chunk of output lines works on.
class Worker {
 public:
  Worker(const IconvArgs& args, RunFn run)
      : args_(args), s_(args.shape), form_(form_of(args.w->isa)), lines_(s_), run_(run),
        direct_(writes_directly(args)) {
    const DepthwiseWeights& w = args.w->depthwise;
    place_memory();
    const int64_t line = lines_.line_bytes();
    std::memset(outside_, (args.x_zero_point ^ flip()) & 0xFF, static_cast<size_t>(line));
    std::fill_n(kept_, lines_.rows, int64_t{-1});
    const auto* shift = w.shift.as<int32_t>();
    const auto* channels = w.channels.as<int32_t>();
    for (int64_t i = 0; i < w.blocks * form_.elements; ++i) {
      const int32_t c = channels[i];
      init_[i] = args.columns->init[c] - shift[c];
      multiplier_[i] = args.columns->multiplier[c];
      bias_[i] = args.columns->bias[c];
    }
  }

  void line(int64_t index) {
    const int64_t image = index / s_.out_h;
    if (image != image_) std::fill_n(kept_, lines_.rows, int64_t{-1});
    image_ = image;
    const int64_t y0 = index % s_.out_h * s_.stride_h - s_.pad_top;
    for (int64_t i = 0; i < s_.kernel_h; ++i) {
      const uint8_t* from = line_at(y0 + i * s_.dilation_h);
      for (int64_t j = 0; j < s_.kernel_w; ++j) {
        const int64_t column = j * s_.dilation_w;
        taps_[i * s_.kernel_w + j] =
            from + column % s_.stride_w * lines_.pitch + column / s_.stride_w * s_.in_c;
      }
    }
    if (direct_)
      write_codes(index);
    else
      write_sums(index);
  }

 private:
  int32_t flip() const { return args_.w->x.is_signed ? 0x80 : 0; }

  void place_memory() {
    const DepthwiseWeights& w = args_.w->depthwise;
    const int64_t constants = w.blocks * form_.elements * int64_t{sizeof(int32_t)};
    const int64_t line = round_up(lines_.line_bytes() + form_.elements, 64);
    const int64_t taps = round_up(w.taps * int64_t{sizeof(void*)}, 64);
    const int64_t kept = round_up(lines_.rows * int64_t{sizeof(int64_t)}, 64);
    const int64_t width = round_up(s_.out_w * s_.in_c, 64) + form_.elements;
    const int64_t sums = direct_ ? 0 : width * int64_t{sizeof(int32_t)};
    const int64_t tile =
        direct_ ? 0 : kTileRowsOfSums * kColumnsPerPanel * int64_t{sizeof(int32_t)};
    auto* at =
        chunk_scratch(Scratch::kTile, static_cast<size_t>(3 * constants + (lines_.rows + 1) * line +
                                                          2 * taps + kept + sums + tile));
    const auto take = [&](int64_t bytes) {
      std::byte* taken = at;
      at += bytes;
      return taken;
    };
    init_ = reinterpret_cast<int32_t*>(take(constants));
    multiplier_ = reinterpret_cast<float*>(take(constants));
    bias_ = reinterpret_cast<float*>(take(constants));
    sums_ = reinterpret_cast<int32_t*>(take(sums));
    tile_ = reinterpret_cast<int32_t*>(take(tile));
    taps_ = reinterpret_cast<const uint8_t**>(take(taps));
    moved_ = reinterpret_cast<const uint8_t**>(take(taps));
    kept_ = reinterpret_cast<int64_t*>(take(kept));
    outside_ = reinterpret_cast<uint8_t*>(take(line));
    copies_ = reinterpret_cast<uint8_t*>(at);
    line_step_ = line;
  }

  const uint8_t* line_at(int64_t y) {
    if (y < 0 || y >= s_.in_h) return outside_;
    const int64_t place = y % lines_.rows;
    uint8_t* copy = copies_ + place * line_step_;
    if (kept_[place] == y) return copy;
    kept_[place] = y;
    const auto* image = static_cast<const uint8_t*>(args_.x) + image_ * s_.in_h * s_.in_w * s_.in_c;
    copy_phases(args_, lines_, image + y * s_.in_w * s_.in_c, copy);
    if (flip() != 0) tile_kernels(args_.w->isa).shift_copy(copy, lines_.line_bytes(), 128, copy);
    return copy;
  }

  /// Calls the kernel on a whole line, or pixel by pixel; `y` is of elements of `width` bytes.
  void each_run(DepthwiseRun run, uint8_t* y, int64_t width) {
    const DepthwiseWeights& w = args_.w->depthwise;
    run.tap_count = w.taps;
    run.blocks = w.blocks;
    run.weights = w.data.as<uint8_t>();
    run.init = init_;
    run.multiplier = multiplier_;
    run.bias = bias_;
    const int64_t pixels = w.whole_lines ? 1 : s_.out_w;
    run.count = s_.in_c * (s_.out_w / pixels);
    for (int64_t i = 0; i < pixels; ++i) {
      for (int64_t t = 0; t < w.taps; ++t)
        moved_[t] = taps_[t] + i * s_.in_c;
      run.taps = moved_;
      run.y = y + i * s_.in_c * width;
      run_(run);
    }
  }

  void write_codes(int64_t index) {
    DepthwiseRun run;
    run.epilogue = &args_.epilogue;
    each_run(run, static_cast<uint8_t*>(args_.y) + index * s_.out_w * s_.in_c, 1);
  }

  /// The sums of a line, then any epilogue of them in tiles.
  void write_sums(int64_t index) {
    each_run({}, reinterpret_cast<uint8_t*>(sums_), sizeof(int32_t));
    const EpilogueTileFn epilogue = tile_kernels(args_.w->isa).epilogue;
    TileOut out;
    out.acc = tile_;
    out.init = args_.columns->init;
    out.multiplier = args_.columns->multiplier;
    out.bias = args_.columns->bias;
    out.bounded = args_.columns->bounded;
    out.y = args_.y;
    out.y_stride = s_.in_c;
    for (int64_t pixel = 0; pixel < s_.out_w; pixel += kTileRowsOfSums) {
      out.rows = std::min(kTileRowsOfSums, s_.out_w - pixel);
      out.row = index * s_.out_w + pixel;
      for (out.column = 0; out.column < s_.in_c; out.column += kColumnsPerPanel) {
        out.columns = std::min(kColumnsPerPanel, s_.in_c - out.column);
        for (int64_t r = 0; r < out.rows; ++r)
          for (int64_t c = 0; c < out.columns; ++c)
            tile_[r * kColumnsPerPanel + c] =
                sums_[(pixel + r) * s_.in_c + out.column + c] - out.init[out.column + c];
        epilogue(args_.epilogue, out);
      }
    }
  }

  const IconvArgs& args_;
  const ConvShape& s_;
  DepthwiseForm form_;
  Lines lines_;
  RunFn run_;
  bool direct_;
  int64_t image_ = -1;
  int64_t line_step_ = 0;
  int32_t* init_ = nullptr;
  float* multiplier_ = nullptr;
  float* bias_ = nullptr;
  int32_t* sums_ = nullptr;
  int32_t* tile_ = nullptr;
  const uint8_t** taps_ = nullptr;
  const uint8_t** moved_ = nullptr;
  int64_t* kept_ = nullptr; ///< which line lies at each place
  uint8_t* outside_ = nullptr;
  uint8_t* copies_ = nullptr;
};

/// The channel of each place of the blocks. Places behind the last channel of a pixel are computed
/// as the first one and not stored.
AlignedBuffer places_of(const DepthwiseWeights& packed, int64_t in_c, const DepthwiseForm& form) {
  AlignedBuffer places(static_cast<size_t>(packed.blocks * form.elements) * sizeof(int32_t));
  for (int64_t i = 0; i < packed.blocks * form.elements; ++i) {
    const int64_t element = i / form.elements * form.elements + element_at(form, i % form.elements);
    const int64_t c = packed.whole_lines ? element % in_c : element;
    places.as<int32_t>()[i] = static_cast<int32_t>(c < in_c ? c : 0);
  }
  return places;
}

template <typename T>
void pack_blocks(const int8_t* w, const DepthwiseForm& form, DepthwiseWeights& packed) {
  const int64_t groups = (packed.taps + form.taps - 1) / form.taps;
  const int64_t places = packed.blocks * form.elements;
  packed.data = AlignedBuffer(static_cast<size_t>(places * groups * form.taps) * sizeof(T));
  auto* out = packed.data.as<T>();
  for (int64_t i = 0; i < places; ++i) {
    const int8_t* taps = w + packed.channels.as<int32_t>()[i] * packed.taps;
    for (int64_t tap = 0; tap < packed.taps; ++tap) {
      const int64_t group = i / form.elements * groups + tap / form.taps;
      out[(group * form.elements + i % form.elements) * form.taps + tap % form.taps] = taps[tap];
    }
  }
}

} // namespace

void pack_depthwise(const int8_t* w, PackedConv& packed) {
  const ConvShape& s = packed.shape;
  DepthwiseWeights& made = packed.depthwise;
  made.taps = s.kernel_h * s.kernel_w;
  const DepthwiseForm form = form_of(packed.isa);
  if (form.elements == 0) {
    made.data = AlignedBuffer(static_cast<size_t>(s.out_c * made.taps));
    std::copy_n(w, s.out_c * made.taps, made.data.as<int8_t>());
    return;
  }
  const int64_t period = std::lcm(s.in_c, form.elements);
  made.whole_lines = period <= kLongPeriod;
  made.blocks = (made.whole_lines ? period : round_up(s.in_c, form.elements)) / form.elements;
  made.channels = places_of(made, s.in_c, form);
  if (form.taps == kDepthwiseAvx512Vnni.taps)
    pack_blocks<int8_t>(w, form, made);
  else
    pack_blocks<int16_t>(w, form, made);
  made.shift = AlignedBuffer(static_cast<size_t>(s.in_c) * sizeof(int32_t));
  for (int64_t c = 0; c < s.in_c; ++c) {
    const int8_t* taps = w + c * made.taps;
    made.shift.as<int32_t>()[c] =
        packed.x.is_signed ? 128 * std::accumulate(taps, taps + made.taps, int32_t{0}) : 0;
  }
}

void depthwise_lines(const IconvArgs& args, ParallelFor& parallel) {
  const ConvShape& s = args.shape;
  constexpr RunFn kNone = nullptr;
  const RunFn run =
      for_isa<kNone, Isa::kAvx2, depthwise_run_avx2, Isa::kAvx512Vnni, depthwise_run_avx512vnni>(
          args.w->isa);
  const auto elements = static_cast<double>(s.out_w * s.out_c);
  const double ns =
      elements * (static_cast<double>(args.w->depthwise.taps) / kProductsPerNs + kElementNs);
  // Chunks copy the lines under both their ends.
  const int64_t grain = std::max(grain_for(ns), (s.kernel_h - 1) * s.dilation_h / s.stride_h + 1);
  parallel.run(s.batch * s.out_h, grain, [&](int64_t begin, int64_t end) {
    Worker worker(args, run);
    for (int64_t line = begin; line < end; ++line)
      worker.line(line);
  });
}

} // namespace octet::kernels
