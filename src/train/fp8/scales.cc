// SPDX-License-Identifier: Apache-2.0
#include "train/fp8/scales.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/codec.h"
#include "train/fp8/round_rows.h"
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/nan_to_num.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/roll.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

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

at::Tensor number_in(float value) {
  at::Tensor t = at::empty({}, at::kFloat);
  *t.mutable_data_ptr<float>() = value;
  return t;
}

/// NaN where there is one.
at::Tensor amax_of(const at::Tensor& x) {
  if (x.numel() == 0) return at::zeros({}, x.options());
  if (!x.is_cpu()) return at::amax(at::abs(x));
  const auto* data = x.const_data_ptr<float>();
  const int64_t blocks = (x.numel() + kGrain - 1) / kGrain;
  std::vector<float> parts(static_cast<size_t>(blocks));
  at::parallel_for(0, blocks, 1, [&](int64_t first, int64_t last) {
    for (int64_t b = first; b < last; ++b)
      parts[static_cast<size_t>(b)] =
          largest_magnitude(data + b * kGrain, std::min(kGrain, x.numel() - b * kGrain));
  });
  return number_in(largest_magnitude(parts.data(), blocks));
}

at::Tensor rounded(const at::Tensor& x, const at::Tensor& scale, Fp8Format format) {
  if (!x.is_cpu()) {
    const float most = largest_of(format);
    const auto type = format == Fp8Format::kE4M3FN ? at::kFloat8_e4m3fn : at::kFloat8_e5m2;
    return at::clamp(x * scale, -most, most).to(type).to(at::kFloat);
  }
  at::Tensor y = at::empty_like(x);
  const auto* from = x.const_data_ptr<float>();
  auto* to = y.mutable_data_ptr<float>();
  const float factor = *scale.const_data_ptr<float>();
  const RoundRow round = format == Fp8Format::kE4M3FN ? round_row_e4m3fn : round_row_e5m2;
  at::parallel_for(0, x.numel(), kGrain, [&](int64_t first, int64_t last) {
    round(from + first, factor, to + first, last - first);
  });
  return y;
}

} // namespace

Fp8Scales::Fp8Scales(const Fp8Options& options, c10::Device device) : options_(options) {
  const auto f32 = at::TensorOptions(device).dtype(at::kFloat);
  largest_ = at::empty({0}, f32);
  scales_ = at::empty({0}, f32);
  history_ = at::empty({0, options.history}, f32);
}

size_t Fp8Scales::add(Fp8Format format) {
  const at::NoGradGuard no_gradient;
  formats_.push_back(format);
  const auto f32 = largest_.options();
  largest_ = at::cat({largest_, at::full({1}, largest_of(format), f32)});
  scales_ = at::cat({scales_, at::ones({1}, f32)});
  if (is_delayed()) history_ = at::cat({history_, at::zeros({1, options_.history}, f32)});
  return formats_.size() - 1;
}

at::Tensor
Fp8Scales::factors(const at::Tensor& largest, const at::Tensor& amax, const at::Tensor& old) const {
  const at::Tensor usable = (amax > 0) & (amax < std::numeric_limits<float>::infinity());
  const at::Tensor scale = (largest / amax) * std::ldexp(1.0, -options_.margin);
  return at::where(usable, scale.clamp_max(std::numeric_limits<float>::max()), old);
}

Fp8Cast Fp8Scales::cast(size_t place, const at::Tensor& x, bool record) {
  TORCH_CHECK(x.scalar_type() == at::kFloat, "FP8 products are of f32 tensors, not of ",
              x.scalar_type());
  const at::NoGradGuard no_gradient;
  const at::Tensor dense = in_one_piece(x.detach());
  const auto index = static_cast<int64_t>(place);
  if (!is_delayed()) {
    const at::Tensor largest = largest_.select(0, index);
    const at::Tensor scale = factors(largest, amax_of(dense), at::ones({}, largest.options()));
    return {rounded(dense, scale, formats_[place]), scale};
  }
  if (record) {
    // Several batches of one step; what is not finite stays seen.
    at::Tensor newest = history_.select(0, index).select(0, 0);
    at::maximum_out(newest, newest, amax_of(dense));
  }
  const at::Tensor scale = scales_.select(0, index);
  return {rounded(dense, scale, formats_[place]), scale};
}

std::vector<double> Fp8Scales::recorded() const {
  if (!is_delayed()) return {};
  const at::Tensor newest = at::nan_to_num(history_.select(1, 0).to(at::kCPU, at::kDouble),
                                           std::numeric_limits<double>::infinity(),
                                           std::numeric_limits<double>::infinity())
                                .contiguous();
  const double* data = newest.const_data_ptr<double>();
  return {data, data + newest.numel()};
}

void Fp8Scales::record(std::span<const double> amax) {
  const at::NoGradGuard no_gradient;
  at::Tensor values = at::empty({std::ssize(amax)}, at::kDouble);
  std::copy(amax.begin(), amax.end(), values.mutable_data_ptr<double>());
  history_.select(1, 0).copy_(values);
}

void Fp8Scales::advance() {
  if (!is_delayed() || formats_.empty()) return;
  const at::NoGradGuard no_gradient;
  at::Tensor newest = history_.select(1, 0);
  const at::Tensor finite = newest < std::numeric_limits<float>::infinity(); // false for NaN
  newest.masked_fill_(finite.logical_not(), 0);
  const at::Tensor amax = options_.amax == Fp8Amax::kMax ? at::amax(history_, 1) : newest;
  scales_.copy_(at::where(finite, factors(largest_, amax, scales_), scales_));
  history_.copy_(at::roll(history_, -1, 1));
  history_.select(1, 0).zero_();
}

std::vector<std::pair<std::string, at::Tensor>> Fp8Scales::state() {
  if (!is_delayed()) return {};
  return {{"scales", scales_}, {"history", history_}};
}

} // namespace octet::train
