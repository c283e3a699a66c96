// SPDX-License-Identifier: Apache-2.0
// Dropout. While training, which elements stay is a function of the seed, the step and the node
// (Philox), so that a resumed run drops the same ones; otherwise y = x.
#include "train/ops/dropout.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/philox.h"
#include "train/ops/mapping.h"
#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/bitwise_and.h>
#include <ATen/ops/bitwise_right_shift.h>
#include <ATen/ops/bitwise_xor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

using octet::train::Call;

namespace octet::train {
namespace {

/// Elements that one task draws for; a multiple of 8.
constexpr int64_t kDrawnTogether = 16384;

constexpr int64_t kWord = 0xFFFFFFFF;

/// 16 bits decide over an element.
int64_t drop_limit(double ratio) {
  return std::lround(ratio * 0x1p16);
}

/// philox4x32 of the counters {i, 0, node, step}, i = 0 .. blocks - 1, in tensors of i64 whose low
/// 32 bits are the words. In 64 bits the products of two words wrap around with the right bits.
std::array<at::Tensor, 4>
drawn_words(int64_t blocks, const RunState& run, int node, at::TensorOptions i64) {
  const at::Tensor zero = at::zeros({1}, i64);
  std::array<at::Tensor, 4> c = {
      at::arange(blocks, i64), zero,
      at::full({1}, static_cast<int64_t>(static_cast<uint32_t>(node)), i64),
      at::full({1}, static_cast<int64_t>(static_cast<uint32_t>(run.step)), i64)};
  auto key0 = static_cast<uint32_t>(run.seed), key1 = static_cast<uint32_t>(run.seed >> 32);
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const at::Tensor a = c[0] * static_cast<int64_t>(kPhiloxFactors[0]),
                     b = c[2] * static_cast<int64_t>(kPhiloxFactors[1]);
    const auto next = [](const at::Tensor& product, const at::Tensor& word, uint32_t key) {
      return at::bitwise_xor(at::bitwise_xor(at::bitwise_right_shift(product, 32), word),
                             static_cast<int64_t>(key))
          .bitwise_and_(kWord);
    };
    c = {next(b, c[1], key0), b, next(a, c[3], key1), a};
    key0 += kPhiloxWeyl[0];
    key1 += kPhiloxWeyl[1];
  }
  return c;
}

} // namespace

at::Tensor keep_mask(const at::Tensor& x, double ratio, const RunState& run, int node) {
  at::Tensor mask = at::empty(x.sizes(), at::kFloat);
  float* out = mask.mutable_data_ptr<float>();
  const float scale = static_cast<float>(1 / (1 - ratio));
  // Eight elements for each block of random numbers.
  const auto limit = static_cast<uint32_t>(drop_limit(ratio));
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

at::Tensor keep_mask_there(const at::Tensor& x, double ratio, const RunState& run, int node) {
  const int64_t count = x.numel(), blocks = (count + 7) / 8;
  const std::array<at::Tensor, 4> words =
      drawn_words(blocks, run, node, x.options().dtype(at::kLong));
  std::vector<at::Tensor> draws;
  for (const at::Tensor& word : words)
    for (const int64_t shift : {0, 16})
      draws.push_back(
          at::bitwise_and(at::bitwise_right_shift(word, shift), int64_t{0xFFFF}).expand({blocks}));
  const at::Tensor kept =
      at::stack(draws, 1).reshape({-1}).narrow(0, 0, count) >= drop_limit(ratio);
  return (kept.to(at::kFloat) * static_cast<float>(1 / (1 - ratio))).reshape(x.sizes());
}

at::Tensor dropout(const at::Tensor& x, double ratio, const RunState& run, int node) {
  TORCH_CHECK(ratio > 0 && ratio < 1, "ratio is ", ratio, "; it lies in [0, 1)");
  const at::Tensor mask =
      x.is_cpu() ? keep_mask(x, ratio, run, node) : keep_mask_there(x, ratio, run, node);
  return x * mask.to(x.scalar_type());
}

} // namespace octet::train

OCTET_TORCH(onnx, Dropout) {
  const double attribute = p.node.attr_float("ratio", 0.5F);
  const bool old = p.version < 12;
  const std::optional<double> given = p.number(1), mode = p.number(2);
  return [=](Call& c) {
    const at::Tensor& x = c.in(0);
    const double ratio = old ? attribute : c.has(1) ? c.number(1, given) : 0.5;
    if (!c.run().training || ratio == 0) {
      TORCH_CHECK(old || !c.has(2) || c.number(2, mode) == 0 || ratio == 0,
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
