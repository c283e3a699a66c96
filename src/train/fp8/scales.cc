// SPDX-License-Identifier: Apache-2.0
#include "train/fp8/scales.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/codec.h"
#include "train/fp8/round_rows.h"
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>

namespace octet::train {
namespace {

constexpr int64_t kGrain = 16384;

float largest_of(Fp8Format format) {
  return static_cast<float>(max_finite(format == Fp8Format::kE4M3FN ? kE4M3FN : kE5M2));
}

/// Elements in the order of memory.
at::Tensor in_one_piece(const at::Tensor& x) {
  return x.is_non_overlapping_and_dense() ? x : x.contiguous();
}

float amax_of(const at::Tensor& x) {
  if (x.numel() == 0) return 0;
  if (!x.is_cpu()) return at::amax(at::abs(x)).item().toFloat();
  const auto* data = x.const_data_ptr<float>();
  const int64_t blocks = (x.numel() + kGrain - 1) / kGrain;
  std::vector<float> parts(static_cast<size_t>(blocks));
  at::parallel_for(0, blocks, 1, [&](int64_t first, int64_t last) {
    for (int64_t b = first; b < last; ++b)
      parts[static_cast<size_t>(b)] =
          largest_magnitude(data + b * kGrain, std::min(kGrain, x.numel() - b * kGrain));
  });
  return largest_magnitude(parts.data(), blocks);
}

at::Tensor rounded(const at::Tensor& x, float scale, Fp8Format format) {
  if (!x.is_cpu()) {
    const float most = largest_of(format);
    const auto type = format == Fp8Format::kE4M3FN ? at::kFloat8_e4m3fn : at::kFloat8_e5m2;
    return at::clamp(x * scale, -most, most).to(type).to(at::kFloat);
  }
  at::Tensor y = at::empty_like(x);
  const auto* from = x.const_data_ptr<float>();
  auto* to = y.mutable_data_ptr<float>();
  const RoundRow round = format == Fp8Format::kE4M3FN ? round_row_e4m3fn : round_row_e5m2;
  at::parallel_for(0, x.numel(), kGrain, [&](int64_t first, int64_t last) {
    round(from + first, scale, to + first, last - first);
  });
  return y;
}

} // namespace

size_t Fp8Scales::add(Fp8Format format) {
  formats_.push_back(format);
  scales_.push_back(1);
  if (is_delayed()) history_.resize(history_.size() + static_cast<size_t>(options_.history));
  return formats_.size() - 1;
}

std::span<float> Fp8Scales::history(size_t place) {
  const auto length = static_cast<size_t>(options_.history);
  return std::span(history_).subspan(place * length, length);
}

float Fp8Scales::factor(size_t place, float amax, float old) const {
  if (!(amax > 0) || !std::isfinite(amax)) return old;
  const float scale = std::ldexp(largest_of(formats_[place]) / amax, -options_.margin);
  return std::min(scale, std::numeric_limits<float>::max());
}

Fp8Cast Fp8Scales::cast(size_t place, const at::Tensor& x, bool record) {
  TORCH_CHECK(x.scalar_type() == at::kFloat, "FP8 products are of f32 tensors, not of ",
              x.scalar_type());
  const at::Tensor dense = in_one_piece(x.detach());
  const bool looks = record || !is_delayed();
  const float amax = looks ? amax_of(dense) : 0.0F;
  if (!is_delayed()) {
    const float scale = factor(place, amax, 1);
    return {rounded(dense, scale, formats_[place]), scale};
  }
  if (record) {
    // Several batches of one step; what is not finite stays seen.
    float& newest = history(place)[0];
    newest = std::isfinite(amax) ? std::max(newest, amax) : std::numeric_limits<float>::infinity();
  }
  return {rounded(dense, scales_[place], formats_[place]), scales_[place]};
}

std::vector<double> Fp8Scales::recorded() const {
  std::vector<double> out;
  for (size_t i = 0; is_delayed() && i < formats_.size(); ++i)
    out.push_back(history_[i * static_cast<size_t>(options_.history)]);
  return out;
}

void Fp8Scales::record(std::span<const double> amax) {
  for (size_t i = 0; i < amax.size(); ++i)
    history(i)[0] = static_cast<float>(amax[i]);
}

void Fp8Scales::advance() {
  if (!is_delayed()) return;
  for (size_t i = 0; i < formats_.size(); ++i) {
    const std::span<float> seen = history(i);
    const bool overflowed = !std::isfinite(seen[0]);
    if (overflowed) seen[0] = 0;
    const float amax =
        options_.amax == Fp8Amax::kMax ? *std::max_element(seen.begin(), seen.end()) : seen[0];
    if (!overflowed) scales_[i] = factor(i, amax, scales_[i]);
    std::rotate(seen.begin(), seen.begin() + 1, seen.end());
    seen[0] = 0;
  }
}

std::vector<std::pair<std::string, at::Tensor>> Fp8Scales::state() {
  if (!is_delayed()) return {};
  const auto places = static_cast<int64_t>(formats_.size());
  return {{"scales", at::from_blob(scales_.data(), {places}, at::kFloat)},
          {"history", at::from_blob(history_.data(), {places, options_.history}, at::kFloat)}};
}

} // namespace octet::train
