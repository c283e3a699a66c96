// SPDX-License-Identifier: Apache-2.0
// Packing, cutting and scalar form of the convolution of narrow groups.
#include "runtime/kernels/narrow_conv.h"

#include <algorithm>
#include <cmath>

#include "core/for_isa.h"
#include "core/numerics/round.h"
#include "core/threads.h"

namespace octet::kernels {
namespace {

constexpr double kNarrowProductsPerNs = 15.0;
// Weights of the panels that a line is run over stay in the first-level cache.
constexpr int64_t kWeightBytes = int64_t{16} << 10;
struct NarrowPlan {
  Blocks lines;  ///< of y, those of an image one after another
  Blocks panels; ///< that a chunk runs over
};

NarrowPlan plan_narrow(const NarrowConvArgs& args) {
  const ConvShape& s = args.shape;
  const NarrowWeights& w = *args.w;
  const int64_t panel_bytes = s.k() * w.lanes * static_cast<int64_t>(sizeof(float));
  NarrowPlan plan;
  plan.panels = even_blocks(w.panels, std::max<int64_t>(kWeightBytes / panel_bytes, 1), 1);
  const double panel_ns = static_cast<double>(s.out_w * s.k() * w.lanes) / kNarrowProductsPerNs;
  const int64_t lines = grain_for(panel_ns * static_cast<double>(plan.panels.size));
  plan.lines = {s.batch * s.out_h, lines};
  return plan;
}

void run_one_line(const NarrowConvArgs& args, NarrowLineFn run, Range panels, int64_t at) {
  const ConvShape& s = args.shape;
  const int64_t image = at / s.out_h, out = at % s.out_h;
  const int64_t channel = panels.begin * args.w->inputs;
  const int64_t first = image * s.in_h + out * s.stride_h - s.pad_top;
  NarrowLine line;
  line.shape = &args.shape;
  line.w = args.w;
  line.epilogue = args.epilogue;
  line.panels = panels;
  line.taps_h = taps_inside(out, s.stride_h, s.pad_top, s.dilation_h, s.kernel_h, s.in_h);
  line.x = args.x + first * s.in_w * s.in_c + channel;
  line.y = args.y + at * s.out_w * s.out_c;
  run(line);
}

} // namespace

NarrowWeights pack_narrow(const float* w, const ConvShape& s, Isa isa) {
  NarrowWeights packed;
  const int64_t in = s.group_in(), out = s.group_out();
  // They fill no more than half of a vector of AVX-512.
  if (s.out_c <= 8 && isa.has(Isa::kAvx2)) isa = Isa::kAvx2;
  packed.isa = isa;
  const int64_t lanes = for_isa<int64_t{16}, Isa::kAvx2, 8, Isa::kAvx512, 16>(isa);
  if (s.groups == 1 || in == 0 || out == 0) return packed;
  const int64_t together = std::min({lanes / in, lanes / out, s.groups});
  // One group at a time needs no vector of its own of x: that is a product like any other.
  if (together < 2 || 2 * together * out < std::min(lanes, s.out_c)) return packed;
  packed.lanes = lanes;
  packed.outputs = together * out;
  packed.inputs = together * in;
  packed.panels = Blocks(s.groups, together).count;
  packed.data = AlignedBuffer(static_cast<size_t>(packed.panels * s.k() * lanes) * sizeof(float));
  packed.index = AlignedBuffer(static_cast<size_t>(in * lanes) * sizeof(int32_t));
  auto* data = packed.data.as<float>();
  for (int64_t o = 0; o < s.out_c; ++o)
    for (int64_t k = 0; k < s.k(); ++k)
      data[(o / packed.outputs * s.k() + k) * lanes + o % packed.outputs] = w[o * s.k() + k];
  auto* index = packed.index.as<int32_t>();
  for (int64_t i = 0; i < in; ++i)
    for (int64_t lane = 0; lane < packed.outputs; ++lane)
      index[i * lanes + lane] = static_cast<int32_t>(lane / out * in + i);
  return packed;
}

void narrow_line_scalar(const NarrowLine& line) {
  const ConvShape& s = *line.shape;
  const NarrowWeights& w = *line.w;
  const auto* index = w.index.as<int32_t>();
  const int64_t in = s.group_in();
  const int64_t first = line.panels.begin * w.outputs;
  const int64_t last = std::min(line.panels.end * w.outputs, s.out_c);
  for (int64_t column = 0; column < s.out_w; ++column) {
    const Range taps =
        taps_inside(column, s.stride_w, s.pad_left, s.dilation_w, s.kernel_w, s.in_w);
    for (int64_t o = first; o < last; ++o) {
      const int64_t panel = o / w.outputs, lane = o % w.outputs;
      const float* weights = w.data.as<float>() + panel * s.k() * w.lanes + lane;
      const float* x = line.x + (panel - line.panels.begin) * w.inputs;
      float sum = 0.0F;
      for (int64_t i = line.taps_h.begin; i < line.taps_h.end; ++i)
        for (int64_t j = taps.begin; j < taps.end; ++j) {
          const int64_t at = column * s.stride_w - s.pad_left + j * s.dilation_w;
          for (int64_t k = 0; k < in; ++k)
            sum = std::fma(x[i * line.row() + at * s.in_c + index[k * w.lanes + lane]],
                           weights[((i * s.kernel_w + j) * in + k) * w.lanes], sum);
        }
      if (line.epilogue.bias != nullptr) sum += line.epilogue.bias[o];
      line.y[column * s.out_c + o] =
          numerics::clamp_keep_nan(sum, line.epilogue.lo, line.epilogue.hi);
    }
  }
}

void narrow_conv(const NarrowConvArgs& args, ParallelFor& parallel) {
  const ConvShape& s = args.shape;
  if (s.pixels() <= 0 || s.out_c <= 0) return;
  const auto run =
      for_isa<narrow_line_scalar, Isa::kAvx2, narrow_line_avx2, Isa::kAvx512, narrow_line_avx512>(
          args.w->isa);
  const NarrowPlan plan = plan_narrow(args);
  parallel.run(plan.panels.count * plan.lines.count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      const Range lines = plan.lines[chunk / plan.panels.count];
      for (int64_t at = lines.begin; at < lines.end; ++at)
        run_one_line(args, run, plan.panels[chunk % plan.panels.count], at);
    }
  });
}

} // namespace octet::kernels
