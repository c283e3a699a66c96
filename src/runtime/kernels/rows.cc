// SPDX-License-Identifier: Apache-2.0
// Chunks and dispatch of softmax and layer norm; the scalar form is core/numerics/reduce.h.
#include "runtime/kernels/rows.h"

#include "core/for_isa.h"
#include "core/numerics/reduce.h"
#include "core/threads.h"

namespace octet::kernels {
namespace {

constexpr double kSoftmaxNs = 1.5;
constexpr double kLayerNormNs = 0.6;

void softmax_rows_scalar(const float* x, int64_t rows, int64_t length, float* y) {
  for (int64_t r = 0; r < rows; ++r) {
    numerics::softmax_row(x + r * length, length, y + r * length);
  }
}

void layer_norm_rows_scalar(const LayerNormArgs& a, int64_t begin, int64_t end) {
  for (int64_t r = begin; r < end; ++r) {
    numerics::layer_norm_row(a.x + r * a.length, a.length, a.gain, a.bias, a.epsilon,
                             a.y + r * a.length);
  }
}

} // namespace

void softmax(
    const float* x, int64_t rows, int64_t length, float* y, Isa isa, ParallelFor& parallel) {
  const auto run = for_isa<softmax_rows_scalar, softmax_rows_avx2, softmax_rows_avx512>(isa);
  parallel.run(rows, grain_for(kSoftmaxNs * static_cast<double>(length)),
               [&](int64_t begin, int64_t end) {
                 run(x + begin * length, end - begin, length, y + begin * length);
               });
}

void layer_norm(const LayerNormArgs& args, Isa isa, ParallelFor& parallel) {
  const auto run =
      for_isa<layer_norm_rows_scalar, layer_norm_rows_avx2, layer_norm_rows_avx512>(isa);
  parallel.run(args.rows, grain_for(kLayerNormNs * static_cast<double>(args.length)),
               [&](int64_t begin, int64_t end) { run(args, begin, end); });
}

} // namespace octet::kernels
