// SPDX-License-Identifier: Apache-2.0
// Chunks, dispatch and scalar form of the kernels over 8-bit codes.
#include "runtime/kernels/codes.h"

#include <algorithm>
#include <array>

#include "core/for_isa.h"
#include "core/numerics/dynamic.h"
#include "core/numerics/epilogue.h"
#include "core/threads.h"
#include "runtime/kernels/broadcast_runs.h"

namespace octet::kernels {
namespace {

constexpr double kLookupNs = 0.4;
constexpr double kQuantizeNs = 0.5;
constexpr double kRangeNs = 0.1;
constexpr int64_t kMaxParts = 256;

void quantize_scalar(const QuantizeArgs& a, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    static_cast<uint8_t*>(a.y)[i] =
        static_cast<uint8_t>(numerics::quantize(a.x[i], a.scale, a.zero_point, a.lo, a.hi));
  }
}

void dequantize_scalar(const DequantizeArgs& a, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    a.y[i] = numerics::dequantize(code_at(a.x, a.is_signed, i), a.scale, a.zero_point);
  }
}

void add_scalar(const AddCodesArgs& a, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    static_cast<uint8_t*>(a.y)[i] = static_cast<uint8_t>(
        numerics::add_quantized(code_at(a.a, a.a_signed, i * a.a_step), a.a_zero_point,
                                a.a_multiplier, code_at(a.b, a.b_signed, i * a.b_step),
                                a.b_zero_point, a.b_multiplier, a.zero_point, a.lo, a.hi));
  }
}

void range_scalar(const float* x, int64_t begin, int64_t end, float& lo, float& hi) {
  for (int64_t i = begin; i < end; ++i) {
    if (x[i] < lo) lo = x[i];
    if (x[i] > hi) hi = x[i];
  }
}

float magnitude_scalar(const float* x, int64_t count) {
  return numerics::largest_magnitude({x, static_cast<size_t>(count)});
}

} // namespace

CodeKernels code_kernels_scalar() {
  return {.range = range_scalar,
          .magnitude = magnitude_scalar,
          .quantize = quantize_scalar,
          .dequantize = dequantize_scalar,
          .add = add_scalar};
}

CodeKernels code_kernels_of(Isa isa) {
  return for_isa<code_kernels_scalar, Isa::kAvx2, code_kernels_avx2, Isa::kAvx512,
                 code_kernels_avx512>(isa)();
}

void table_lookup_scalar(const uint8_t table[256], const uint8_t* x, int64_t count, uint8_t* y) {
  for (int64_t i = 0; i < count; ++i) {
    y[i] = table[x[i]];
  }
}

void lookup(const uint8_t table[256],
            const uint8_t* x,
            int64_t count,
            uint8_t* y,
            Isa isa,
            ParallelFor& parallel) {
  const auto run = for_isa<table_lookup_scalar, Isa::kAvx2, table_lookup_avx2, Isa::kAvx512Vbmi,
                           table_lookup_avx512vbmi>(isa);
  parallel.run(count, grain_for(kLookupNs),
               [&](int64_t begin, int64_t end) { run(table, x + begin, end - begin, y + begin); });
}

void quantize(const QuantizeArgs& args, Isa isa, ParallelFor& parallel) {
  const auto run = code_kernels_of(isa).quantize;
  parallel.run(args.count, grain_for(kQuantizeNs),
               [&](int64_t begin, int64_t end) { run(args, begin, end); });
}

void quantize_rows(const QuantizeRowsArgs& args, Isa isa, ParallelFor& parallel) {
  const CodeKernels run = code_kernels_of(isa);
  const double row_ns = (kRangeNs + kQuantizeNs) * static_cast<double>(args.length);
  parallel.run(args.rows, grain_for(row_ns), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      QuantizeArgs row;
      row.x = args.x + r * args.length;
      row.scale = numerics::scale_of_magnitude(run.magnitude(row.x, args.length));
      row.y = args.y + r * args.length;
      args.scales[r] = row.scale;
      run.quantize(row, 0, args.length);
    }
  });
}

void dynamic_quantize(const float* x,
                      int64_t count,
                      uint8_t* y,
                      float* scale,
                      uint8_t* zero_point,
                      Isa isa,
                      ParallelFor& parallel) {
  const auto range = code_kernels_of(isa).range;
  const int64_t grain = std::max(grain_for(kRangeNs), (count + kMaxParts - 1) / kMaxParts);
  float lo = 0.0F, hi = 0.0F;
  if (count <= grain) {
    range(x, 0, count, lo, hi);
  } else {
    std::array<float, kMaxParts> low{};
    std::array<float, kMaxParts> high{};
    parallel.run(count, grain, [&](int64_t begin, int64_t end) {
      const auto part = static_cast<size_t>(begin / grain);
      range(x, begin, end, low[part], high[part]);
    });
    lo = *std::min_element(low.begin(), low.end());
    hi = *std::max_element(high.begin(), high.end());
  }
  *scale = lo == hi ? 1.0F : (hi - lo) / 255.0F;
  const int32_t zero = numerics::round_saturate(0 - lo / *scale, 0, 0, 255);
  *zero_point = static_cast<uint8_t>(zero);
  quantize({.x = x,
            .count = count,
            .scale = *scale,
            .zero_point = zero,
            .lo = 0,
            .hi = 255,
            .is_signed = false,
            .y = y},
           isa, parallel);
}

void dequantize(const DequantizeArgs& args, Isa isa, ParallelFor& parallel) {
  const auto run = code_kernels_of(isa).dequantize;
  parallel.run(args.count, grain_for(kQuantizeNs),
               [&](int64_t begin, int64_t end) { run(args, begin, end); });
}

void add_codes(const AddCodesArgs& args,
               const BroadcastPlan& plan,
               Isa isa,
               ParallelFor& parallel) {
  const auto run = code_kernels_of(isa).add;
  each_run(plan, parallel, [&](const BroadcastOffsets& from, int64_t to, int64_t count) {
    AddCodesArgs a = args;
    a.a = static_cast<const uint8_t*>(args.a) + from[0];
    a.b = static_cast<const uint8_t*>(args.b) + from[1];
    a.a_step = plan.strides[0].back();
    a.b_step = plan.strides[1].back();
    a.y = static_cast<uint8_t*>(args.y) + to;
    run(a, count);
  });
}

} // namespace octet::kernels
