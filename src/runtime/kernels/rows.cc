// SPDX-License-Identifier: Apache-2.0
// Chunks and dispatch of softmax and the norms; the scalar form is core/numerics/reduce.h.
#include "runtime/kernels/rows.h"

#include <algorithm>
#include <cmath>

#include "core/for_isa.h"
#include "core/numerics/reduce.h"
#include "core/numerics/round.h"
#include "core/threads.h"
#include "runtime/kernels/buffer.h"

namespace octet::kernels {
namespace {

constexpr double kSoftmaxNs = 1.5;
constexpr double kLayerNormNs = 0.6;
constexpr double kRowCodesNs = 0.3;

void softmax_rows_scalar(const float* x, int64_t rows, int64_t length, float* y) {
  for (int64_t r = 0; r < rows; ++r) {
    numerics::softmax_row(x + r * length, length, y + r * length);
  }
}

void layer_norm_rows_scalar(const LayerNormArgs& a, int64_t begin, int64_t end, float* row) {
  for (int64_t r = begin; r < end; ++r) {
    const int64_t at = r * a.length;
    for (int64_t i = 0; i < a.length; ++i) {
      row[i] = a.residual == nullptr ? a.x[at + i] : a.x[at + i] + a.residual[at + i];
    }
    if (a.sum != nullptr) std::copy_n(row, a.length, a.sum + at);
    numerics::layer_norm_row(row, a.length, a.gain, a.bias, a.epsilon, row);
    if (a.y != nullptr) std::copy_n(row, a.length, a.y + at);
    for (int64_t k = 0; k < a.code_count; ++k) {
      const RowCodes& c = a.codes[k];
      auto* y = static_cast<uint8_t*>(c.y) + at;
      for (int64_t i = 0; i < a.length; ++i) {
        y[i] = static_cast<uint8_t>(numerics::quantize(
            row[i], c.scale, c.zero_point, c.is_signed ? -128 : 0, c.is_signed ? 127 : 255));
      }
    }
  }
}

void softmax_some_lines_scalar(
    const float* x, int64_t length, int64_t inner, int64_t count, float* y) {
  auto* line = reinterpret_cast<float*>(
      chunk_scratch(Scratch::kRowsFloat, static_cast<size_t>(length) * sizeof(float)));
  for (int64_t k = 0; k < count; ++k) {
    for (int64_t i = 0; i < length; ++i) {
      line[i] = x[i * inner + k];
    }
    numerics::softmax_row(line, length, line);
    for (int64_t i = 0; i < length; ++i) {
      y[i * inner + k] = line[i];
    }
  }
}

void group_norm_rows_scalar(const GroupNormArgs& a, int64_t begin, int64_t end) {
  const int64_t length = a.channels * a.plane;
  for (int64_t r = begin; r < end; ++r) {
    float* y = a.y + r * length;
    const float inverse = numerics::centre_row(a.x + r * length, length, a.epsilon, y);
    for (int64_t i = 0; i < length; ++i) {
      const int64_t channel = r % a.groups * a.channels + i / a.plane;
      y[i] = std::fma(y[i] * inverse, a.gain[channel], a.bias[channel]);
    }
  }
}

} // namespace

void softmax(
    const float* x, int64_t rows, int64_t length, float* y, Isa isa, ParallelFor& parallel) {
  const auto run = for_isa<softmax_rows_scalar, Isa::kAvx2, softmax_rows_avx2, Isa::kAvx512,
                           softmax_rows_avx512>(isa);
  parallel.run(rows, grain_for(kSoftmaxNs * static_cast<double>(length)),
               [&](int64_t begin, int64_t end) {
                 run(x + begin * length, end - begin, length, y + begin * length);
               });
}

void softmax_lines(const float* x,
                   int64_t outer,
                   int64_t length,
                   int64_t inner,
                   float* y,
                   Isa isa,
                   ParallelFor& parallel) {
  const auto run = for_isa<softmax_some_lines_scalar, Isa::kAvx2, softmax_some_lines_avx2,
                           Isa::kAvx512, softmax_some_lines_avx512>(isa);
  const int64_t blocks = (inner + kSoftmaxLines - 1) / kSoftmaxLines;
  const double ns = kSoftmaxNs * static_cast<double>(length * kSoftmaxLines);
  parallel.run(outer * blocks, grain_for(ns), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t first = b % blocks * kSoftmaxLines;
      const int64_t at = b / blocks * length * inner + first;
      run(x + at, length, inner, std::min(kSoftmaxLines, inner - first), y + at);
    }
  });
}

void group_norm(const GroupNormArgs& args, Isa isa, ParallelFor& parallel) {
  const auto run = for_isa<group_norm_rows_scalar, Isa::kAvx2, group_norm_rows_avx2, Isa::kAvx512,
                           group_norm_rows_avx512>(isa);
  parallel.run(args.rows, grain_for(kLayerNormNs * static_cast<double>(args.channels * args.plane)),
               [&](int64_t begin, int64_t end) { run(args, begin, end); });
}

void layer_norm(const LayerNormArgs& args, Isa isa, ParallelFor& parallel) {
  const auto run = for_isa<layer_norm_rows_scalar, Isa::kAvx2, layer_norm_rows_avx2, Isa::kAvx512,
                           layer_norm_rows_avx512>(isa);
  const double ns = kLayerNormNs + kRowCodesNs * static_cast<double>(args.code_count);
  parallel.run(
      args.rows, grain_for(ns * static_cast<double>(args.length)), [&](int64_t begin, int64_t end) {
        auto* row = reinterpret_cast<float*>(
            chunk_scratch(Scratch::kRowsFloat, static_cast<size_t>(args.length) * sizeof(float)));
        run(args, begin, end, row);
      });
}

} // namespace octet::kernels
