// SPDX-License-Identifier: Apache-2.0
// Dropout. While training, which elements stay is a function of the seed, the step and the node
// (Philox), so that a resumed run drops the same ones; otherwise y = x.
#include "train/ops/dropout.h"

#include <algorithm>
#include <cmath>

#include "core/philox.h"
#include "train/ops/mapping.h"
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones_like.h>

using octet::train::Call;

namespace octet::train {
namespace {

/// Elements that one task draws for; a multiple of 8.
constexpr int64_t kDrawnTogether = 16384;

/// 1 / (1 - ratio) with probability 1 - ratio, else 0.
at::Tensor keep_mask(const at::Tensor& x, double ratio, const RunState& run, int node) {
  at::Tensor mask = at::empty(x.sizes(), at::kFloat);
  float* out = mask.mutable_data_ptr<float>();
  const float scale = static_cast<float>(1 / (1 - ratio));
  // 16 bits decide over an element: eight elements for each block of random numbers.
  const auto limit = static_cast<uint32_t>(std::lround(ratio * 0x1p16));
  const std::array<uint32_t, 2> key = {static_cast<uint32_t>(run.seed),
                                       static_cast<uint32_t>(run.seed >> 32)};
  const int64_t count = x.numel();
  at::parallel_for(
      0, (count + kDrawnTogether - 1) / kDrawnTogether, 1, [&](int64_t first, int64_t last) {
        for (int64_t i = first * kDrawnTogether; i < std::min(count, last * kDrawnTogether);
             i += 8) {
          const std::array<uint32_t, 4> words =
              philox4x32({static_cast<uint32_t>(i / 8), static_cast<uint32_t>(i >> 35),
                          static_cast<uint32_t>(node), static_cast<uint32_t>(run.step)},
                         key);
          for (int64_t k = 0; k < 8 && i + k < count; ++k) {
            const uint32_t draw = (words[static_cast<size_t>(k / 2)] >> (16 * (k % 2))) & 0xFFFFU;
            out[i + k] = draw < limit ? 0.0F : scale;
          }
        }
      });
  return mask;
}

} // namespace

at::Tensor dropout(const at::Tensor& x, double ratio, const RunState& run, int node) {
  TORCH_CHECK(ratio > 0 && ratio < 1, "ratio is ", ratio, "; it lies in [0, 1)");
  return x * keep_mask(x, ratio, run, node).to(x.device(), x.scalar_type());
}

} // namespace octet::train

OCTET_TORCH(onnx, Dropout) {
  const double attribute = p.node.attr_float("ratio", 0.5F);
  const bool old = p.version < 12;
  return [=](Call& c) {
    const at::Tensor& x = c.in(0);
    const double ratio = old ? attribute : c.has(1) ? c.number(1) : 0.5;
    if (!c.run().training || ratio == 0) {
      TORCH_CHECK(old || !c.has(2) || c.number(2) == 0 || ratio == 0,
                  "training_mode is set, but the model is not being trained");
      c.out(x);
      if (c.wants(1))
        c.out(at::ones_like(x, x.options().dtype(old ? x.scalar_type() : at::kBool)), 1);
      return;
    }
    c.out(octet::train::dropout(x, ratio, c.run(), c.node()));
    // The second output is the mask, which dropout of ones shows.
    if (c.wants(1)) c.out(octet::train::dropout(at::ones_like(x), ratio, c.run(), c.node()) > 0, 1);
  };
}
