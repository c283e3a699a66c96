// SPDX-License-Identifier: Apache-2.0
// Packing and driver of the transposed convolution: some lines of x are copied with zeros around
// them, on which every phase runs the tiles of sgemm, its pixels a stride apart in y.
#include "runtime/kernels/transposed_conv.h"

#include <algorithm>
#include <cstring>

#include "core/threads.h"
#include "runtime/kernels/row_block.h"
#include "runtime/kernels/sgemm_tile.h"

namespace octet::kernels {
namespace {

constexpr double kProductsPerNs = 40.0;

std::vector<PhaseAxis> phases_of(int64_t kernel, int64_t stride, int64_t dilation) {
  std::vector<PhaseAxis> phases(static_cast<size_t>(stride));
  for (int64_t t = 0; t < kernel; ++t) {
    PhaseAxis& phase = phases[static_cast<size_t>(t * dilation % stride)];
    phase.taps.push_back(t);
    phase.back.push_back(t * dilation / stride);
  }
  return phases;
}

/// The outputs of one phase along an axis: output `first` + i * stride is that of place `place` + i
/// of x.
struct PhaseOutputs {
  int64_t first = 0, place = 0, count = 0;
};
PhaseOutputs outputs_of(int64_t phase, int64_t out, int64_t stride, int64_t pad, Range places) {
  PhaseOutputs o;
  o.place = std::max(places.begin, pad > phase ? (pad - phase + stride - 1) / stride : 0);
  o.first = o.place * stride + phase - pad;
  const int64_t left = out - o.first;
  o.count = std::clamp<int64_t>((left + stride - 1) / stride, 0,
                                std::max<int64_t>(places.end - o.place, 0));
  return o;
}

struct TransposedPlan {
  int64_t back_h = 0, back_w = 0; ///< the most that a tap lies before its place
  int64_t columns = 0;            ///< places of a line
  int64_t pitch = 0;              ///< elements of a copied line
  int64_t places = 0;             ///< lines of places of an image
  Blocks lines;                   ///< of them
};

TransposedPlan plan_transposed(const ConvShape& s) {
  TransposedPlan plan;
  plan.back_h = (s.kernel_h - 1) * s.dilation_h / s.stride_h;
  plan.back_w = (s.kernel_w - 1) * s.dilation_w / s.stride_w;
  plan.columns = (s.out_w + s.pad_left - 1) / s.stride_w + 1;
  plan.pitch = (plan.back_w + plan.columns) * s.in_c;
  plan.places = (s.out_h + s.pad_top - 1) / s.stride_h + 1;
  const double line_ns = static_cast<double>(plan.columns * s.k() * s.out_c) / kProductsPerNs;
  const int64_t few = (FloatBlock::kMaxRows + plan.columns - 1) / plan.columns;
  plan.lines = {plan.places, std::clamp<int64_t>(grain_for(line_ns), 1, few)};
  return plan;
}

/// Copies the lines of x that places [some.begin, some.end) read, zeros around them.
void copy_places(const TransposedConvArgs& args,
                 const TransposedPlan& plan,
                 int64_t image,
                 Range some,
                 float* to) {
  const ConvShape& s = args.shape;
  const int64_t inside = std::min(s.in_w, plan.columns) * s.in_c;
  for (int64_t row = some.begin - plan.back_h; row < some.end; ++row, to += plan.pitch) {
    if (row < 0 || row >= s.in_h) {
      std::fill_n(to, plan.pitch, 0.0F);
      continue;
    }
    float* first = std::fill_n(to, plan.back_w * s.in_c, 0.0F);
    std::memcpy(first, args.x + (image * s.in_h + row) * s.in_w * s.in_c,
                static_cast<size_t>(inside) * sizeof(float));
    std::fill(first + inside, to + plan.pitch, 0.0F);
  }
}

/// One line of places in one phase.
struct PhaseLine {
  size_t phase_h, phase_w;
  const float* places; ///< the first place of the line in the copied lines
  int64_t y_line;      ///< line of y, those of all images one after another
};

void run_phase(const TransposedConvArgs& args, const TransposedPlan& plan, const PhaseLine& line) {
  const ConvShape& s = args.shape;
  const PhaseAxis& rows = args.w->rows[line.phase_h];
  const PhaseAxis& columns = args.w->columns[line.phase_w];
  const auto taps = static_cast<int64_t>(rows.taps.size() * columns.taps.size());
  auto* runs = reinterpret_cast<FloatRun*>(
      chunk_scratch(Scratch::kTile, static_cast<size_t>(taps) * sizeof(FloatRun)));
  int64_t tap = 0;
  for (const int64_t back_h : rows.back)
    for (const int64_t back_w : columns.back) {
      runs[tap] = {-back_h * plan.pitch - back_w * s.in_c, tap * s.group_in()};
      ++tap;
    }
  const PhaseOutputs out = outputs_of(static_cast<int64_t>(line.phase_w), s.out_w, s.stride_w,
                                      s.pad_left, {0, plan.columns});
  for (int64_t group = 0; group < s.groups; ++group) {
    const size_t at = (line.phase_h * static_cast<size_t>(s.stride_w) + line.phase_w) *
                          static_cast<size_t>(s.groups) +
                      static_cast<size_t>(group);
    const PackedFloat& w = args.w->weights[at];
    FloatBlock block;
    // A phase without taps is the bias: one run of nothing.
    block.segments = std::max<int64_t>(taps, 1);
    block.run = taps == 0 ? 0 : s.group_in();
    if (taps > 0) block.runs = runs;
    block.w = w.data.as<float>();
    block.n = w.n;
    block.kernels = float_tile_kernels(w.isa, w.n);
    block.epilogue = args.epilogue;
    if (block.epilogue.bias != nullptr) block.epilogue.bias += group * s.group_out();
    block.y = args.y + (line.y_line * s.out_w + out.first) * s.out_c + group * s.group_out();
    block.y_stride = s.stride_w * s.out_c;
    block.panels = {0, panel_count(w)};
    run_rows(block, line.places + out.place * s.in_c + group * s.group_in(), s.in_c, out.count);
  }
}

void run_places(const TransposedConvArgs& args,
                const TransposedPlan& plan,
                int64_t image,
                Range some) {
  const ConvShape& s = args.shape;
  const int64_t lines = some.count() + plan.back_h;
  auto* copied = reinterpret_cast<float*>(
      chunk_scratch(Scratch::kRowsFloat, static_cast<size_t>(lines * plan.pitch) * sizeof(float)));
  copy_places(args, plan, image, some, copied);
  for (size_t h = 0; h < args.w->rows.size(); ++h) {
    const PhaseOutputs out =
        outputs_of(static_cast<int64_t>(h), s.out_h, s.stride_h, s.pad_top, some);
    for (int64_t i = 0; i < out.count; ++i)
      for (size_t w = 0; w < args.w->columns.size(); ++w)
        run_phase(args, plan,
                  {h, w,
                   copied + (out.place + i - some.begin + plan.back_h) * plan.pitch +
                       plan.back_w * s.in_c,
                   image * s.out_h + out.first + i * s.stride_h});
  }
}

} // namespace

PackedTransposedConv pack_transposed_conv(const float* w, const ConvShape& s, Isa isa) {
  PackedTransposedConv packed;
  packed.shape = s;
  packed.rows = phases_of(s.kernel_h, s.stride_h, s.dilation_h);
  packed.columns = phases_of(s.kernel_w, s.stride_w, s.dilation_w);
  std::vector<float> part;
  for (const PhaseAxis& rows : packed.rows)
    for (const PhaseAxis& columns : packed.columns)
      for (int64_t group = 0; group < s.groups; ++group) {
        part.clear();
        for (int64_t o = group * s.group_out(); o < (group + 1) * s.group_out(); ++o)
          for (const int64_t i : rows.taps)
            for (const int64_t j : columns.taps) {
              const float* from = w + ((o * s.kernel_h + i) * s.kernel_w + j) * s.group_in();
              part.insert(part.end(), from, from + s.group_in());
            }
        const int64_t k =
            static_cast<int64_t>(rows.taps.size() * columns.taps.size()) * s.group_in();
        packed.weights.push_back(pack_float({part.data(), 1, k, s.group_out(), k}, isa));
      }
  return packed;
}

void transposed_conv(const TransposedConvArgs& args, ParallelFor& parallel) {
  const ConvShape& s = args.shape;
  if (s.pixels() <= 0 || s.out_c <= 0) return;
  const TransposedPlan plan = plan_transposed(s);
  parallel.run(s.batch * plan.lines.count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk)
      run_places(args, plan, chunk / plan.lines.count, plan.lines[chunk % plan.lines.count]);
  });
}

} // namespace octet::kernels
