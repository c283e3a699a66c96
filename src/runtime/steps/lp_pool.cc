// SPDX-License-Identifier: Apache-2.0
// LpPool, plane by plane. Sums and powers are those of the operator's eval, in double and rounded
// once: squares of floats are exact there, so that only other powers need the C library's for each
// tap.
#include <cmath>

#include "core/threads.h"
#include "ops/shared/pooling.h"
#include "runtime/steps/call.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

constexpr double kPooledTapNs = 1;
constexpr double kRootNs = 20;

template <class Power>
void lp_plane(const Window3& g, const float* x, double p, float* y, Power power) {
  for (int64_t d = 0; d < g.out[0]; ++d)
    for (int64_t h = 0; h < g.out[1]; ++h)
      for (int64_t w = 0; w < g.out[2]; ++w) {
        double sum = 0;
        for_each_tap(g, d, h, w, [&](int64_t offset) {
          sum += power(std::fabs(static_cast<double>(x[offset])));
        });
        *y++ = static_cast<float>(std::pow(sum, 1 / p));
      }
}

void lp_plane(const Window3& g, const float* x, int64_t p, float* y) {
  const auto exponent = static_cast<double>(p);
  if (p == 1) return lp_plane(g, x, exponent, y, [](double v) { return v; });
  if (p == 2) return lp_plane(g, x, exponent, y, [](double v) { return v * v; });
  lp_plane(g, x, exponent, y, [exponent](double v) { return std::pow(v, exponent); });
}

} // namespace

Choice prepare_lp_pool(const PrepareContext& c) {
  if (c.type(0).type != DType::kFloat32) return Choice::refuse("lp_pool: not of type f32");
  auto bind = [node = c.node](std::span<const Operand> in,
                              std::span<const Operand> out) -> Result<std::unique_ptr<Step>> {
    const Window3 window = OCTET_TRY(pool_window(node, in[0].shape, out[0].shape));
    const int64_t planes = in[0].shape[0] * in[0].shape[1], p = node.attr_int("p", 2);
    return call_step(
        [window, planes, p, x = in[0].id, y = out[0].id](Slots slots, ParallelFor& parallel) {
          const float* from = at<const float>(slots, x);
          float* to = at<float>(slots, y);
          const double tap_ns = p <= 2 ? kPooledTapNs : kRootNs;
          const double ns = static_cast<double>(window.out_count()) *
                            (kRootNs + tap_ns * static_cast<double>(window.kernel_count()));
          parallel.run(planes, grain_for(ns), [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i)
              lp_plane(window, from + i * window.in_count(), p, to + i * window.out_count());
          });
        });
  };
  return {bind_with(std::move(bind)), "lp_pool", {}};
}

} // namespace octet::runtime
