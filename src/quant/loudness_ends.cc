// SPDX-License-Identifier: Apache-2.0
#include "quant/loudness_ends.h"

#include <optional>
#include <utility>

#include "quant/batch_rows.h"

namespace octet {

namespace {

/// nullopt: no input is f32.
std::optional<double> loudness(std::span<const Tensor> inputs, int64_t row) {
  std::optional<double> sum;
  for (const Tensor& input : inputs) {
    if (input.type() != DType::kFloat32) continue;
    const auto count = static_cast<size_t>(input.count() / input.dim(0));
    double squares = 0;
    for (const float x : input.data<float>().subspan(static_cast<size_t>(row) * count, count))
      squares += static_cast<double>(x) * static_cast<double>(x);
    sum = sum.value_or(0) + squares;
  }
  return sum;
}

} // namespace

void LoudnessEnds::see(std::span<const Tensor> inputs, std::span<const int64_t> rows) {
  for (const int64_t row : rows) {
    const std::optional<double> size = loudness(inputs, row);
    if (!size) return;
    if (quietest_.empty() || *size < least_) {
      least_ = *size;
      quietest_ = rows_of(inputs, std::span(&row, 1));
    }
    if (loudest_.empty() || *size > most_) {
      most_ = *size;
      loudest_ = rows_of(inputs, std::span(&row, 1));
    }
  }
}

void LoudnessEnds::join(HeldBack& held) {
  if (quietest_.empty()) return;
  held.batches.push_back({std::exchange(quietest_, {}), {}, true});
  std::vector<Tensor> loudest = std::exchange(loudest_, {});
  if (most_ > least_) held.batches.push_back({std::move(loudest), {}, true});
}

} // namespace octet
