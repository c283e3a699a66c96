// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/grid_sample.h"

#include <algorithm>
#include <cstddef>

#include "core/for_isa.h"
#include "core/threads.h"
#include "runtime/kernels/buffer.h"
#include "runtime/kernels/cut.h"

namespace octet::kernels {
namespace {

constexpr double kPlaceNs = 20.0;
constexpr double kSampledNs = 0.4;
constexpr uint64_t kNothing = 64; ///< the shift of a tap that reads a zero

using SamplePoints = void(const SampledPoints&, const float*, float*);

constexpr int64_t taps_of(Sampling mode) {
  if (mode == Sampling::kNearest) return 1;
  return mode == Sampling::kLinear ? 2 : 4;
}

template <int64_t kTaps>
float sampled(const SampledPoints& p, int64_t i, const float* image) {
  constexpr int64_t kPairs = std::max<int64_t>(kTaps / 2, 1);
  double sum = 0;
  for (int64_t r = 0; r < kTaps; ++r) {
    double line = 0;
    for (int64_t c = 0; c < kTaps; ++c) {
      const uint64_t shift = p.shift[(r * kTaps + c) * kSampledPoints + i];
      const int64_t pair = p.pair[(r * kPairs + c / 2) * kSampledPoints + i];
      const int64_t at = pair / static_cast<int64_t>(sizeof(float)) + (shift == 32 ? 1 : 0);
      line += p.column[c * kSampledPoints + i] * (shift == kNothing ? 0.0F : image[at]);
    }
    sum += p.row[r * kSampledPoints + i] * line;
  }
  return static_cast<float>(sum);
}

template <int64_t kTaps>
void sample_all(const SampledPoints& p, const float* image, float* y) {
  for (int64_t i = 0; i < p.count; ++i)
    y[i] = sampled<kTaps>(p, i, image);
}

void sample_points_scalar(const SampledPoints& p, const float* image, float* y) {
  if (p.taps == 1) return sample_all<1>(p, image, y);
  if (p.taps == 2) return sample_all<2>(p, image, y);
  return sample_all<4>(p, image, y);
}

/// Memory for the taps of one chunk.
SampledPoints some_points(int64_t taps) {
  const int64_t pairs = taps * std::max<int64_t>(taps / 2, 1);
  const int64_t values = (pairs + taps * taps + 2 * taps) * kSampledPoints;
  std::byte* at = chunk_scratch(Scratch::kTile, static_cast<size_t>(values) * sizeof(int64_t));
  SampledPoints out{.taps = taps};
  out.pair = reinterpret_cast<int64_t*>(at);
  out.shift = reinterpret_cast<uint64_t*>(out.pair + pairs * kSampledPoints);
  out.row = reinterpret_cast<double*>(out.shift + taps * taps * kSampledPoints);
  out.column = out.row + taps * kSampledPoints;
  return out;
}

class Sampler {
 public:
  Sampler(const GridSampleArgs& args, const float* x, const float* grid, float* y, Isa isa)
      : args_(args), x_(x), grid_(grid), y_(y), plane_(args.rows * args.columns),
        row_axis_(grid_axis(args.attrs, args.rows)),
        column_axis_(grid_axis(args.attrs, args.columns)),
        last_pair_(std::max<int64_t>(plane_ - 2, 0)),
        // Vectors load two elements at a time.
        sample_(plane_ < 2 ? sample_points_scalar
                           : for_isa<sample_points_scalar,
                                     Isa::kAvx2,
                                     sample_points_avx2,
                                     Isa::kAvx512,
                                     sample_points_avx512>(isa)) {}

  /// Points [begin, end) of image n. How taps are found is known when it is compiled.
  template <Sampling kMode, Beyond kBeyond>
  void points(int64_t n, int64_t begin, int64_t end) const {
    constexpr int64_t kTaps = taps_of(kMode);
    const GridSampleAttrs attrs{kMode, kBeyond, args_.attrs.align_corners};
    SampledPoints p = some_points(kTaps);
    p.count = end - begin;
    const float* g = grid_ + (n * args_.points + begin) * 2;
    for (int64_t i = 0; i < p.count; ++i)
      put<kTaps>(p, i, grid_taps(attrs, row_axis_, g[2 * i + 1]),
                 grid_taps(attrs, column_axis_, g[2 * i]));
    for (int64_t i = p.count; i < round_up(p.count, kSampledTogether); ++i)
      put<kTaps>(p, i, {}, {});
    for (int64_t c = n * args_.channels; c < (n + 1) * args_.channels; ++c)
      sample_(p, x_ + c * plane_, y_ + c * args_.points + begin);
  }

 private:
  /// The taps of point i. Those that are left out weigh nothing and read zeros, which changes no
  /// sum: none is ever -0.
  template <int64_t kTaps>
  void put(const SampledPoints& p, int64_t i, const Taps& rows, const Taps& columns) const {
    constexpr int64_t kTogether = std::min<int64_t>(kTaps, 2);
    for (size_t k = 0; k < kTaps; ++k) {
      const int64_t at = static_cast<int64_t>(k) * kSampledPoints + i;
      p.row[at] = rows.weight[k];
      p.column[at] = columns.weight[k];
    }
    int64_t* pair = p.pair + i;
    uint64_t* shift = p.shift + i;
    for (int r = 0; r < kTaps; ++r)
      for (int c = 0; c < kTaps; c += 2) {
        const int count = r < rows.count ? std::clamp<int>(columns.count - c, 0, kTogether) : 0;
        const int64_t line = rows.index[static_cast<size_t>(r)] * args_.columns;
        const auto first = static_cast<size_t>(c);
        const int64_t at[2] = {line + columns.index[first],
                               line + columns.index[count > 1 ? first + 1 : first]};
        const int64_t from = count == 0 ? 0 : std::min({at[0], at[1], last_pair_});
        *pair = from * static_cast<int64_t>(sizeof(float));
        pair += kSampledPoints;
        for (int k = 0; k < kTogether; ++k, shift += kSampledPoints)
          *shift = k < count ? static_cast<uint64_t>(at[k] - from) * 32 : kNothing;
      }
  }

  const GridSampleArgs& args_;
  const float* x_;
  const float* grid_;
  float* y_;
  int64_t plane_;
  SampledAxis row_axis_, column_axis_;
  int64_t last_pair_;
  SamplePoints* sample_;
};

template <Sampling kMode>
auto points_fn(Beyond beyond) {
  if (beyond == Beyond::kZeros) return &Sampler::points<kMode, Beyond::kZeros>;
  if (beyond == Beyond::kEdge) return &Sampler::points<kMode, Beyond::kEdge>;
  return &Sampler::points<kMode, Beyond::kMirror>;
}

auto points_fn(const GridSampleAttrs& a) {
  if (a.mode == Sampling::kNearest) return points_fn<Sampling::kNearest>(a.beyond);
  if (a.mode == Sampling::kLinear) return points_fn<Sampling::kLinear>(a.beyond);
  return points_fn<Sampling::kCubic>(a.beyond);
}

} // namespace

void grid_sample(const GridSampleArgs& args,
                 const float* x,
                 const float* grid,
                 float* y,
                 Isa isa,
                 ParallelFor& parallel) {
  const Blocks blocks(args.points, kSampledPoints);
  const int64_t taps = taps_of(args.attrs.mode);
  const double point =
      kPlaceNs + kSampledNs * static_cast<double>(taps * taps) * static_cast<double>(args.channels);
  const Sampler sampler(args, x, grid, y, isa);
  const auto points = points_fn(args.attrs);
  parallel.run(args.batch * blocks.count, grain_for(point * static_cast<double>(blocks.longest())),
               [&](int64_t begin, int64_t end) {
                 for (int64_t k = begin; k < end; ++k) {
                   const Range some = blocks[k % blocks.count];
                   (sampler.*points)(k / blocks.count, some.begin, some.end);
                 }
               });
}

} // namespace octet::kernels
