// SPDX-License-Identifier: Apache-2.0
#include "passes/lower/int8_weights.h"

#include "graph/edit.h"

namespace octet::lowering {
namespace {

std::optional<Tensor> as_int8(const std::vector<int64_t>& values, Shape shape) {
  std::vector<int8_t> codes(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] < -128 || values[i] > 127) return std::nullopt;
    codes[i] = static_cast<int8_t>(values[i]);
  }
  return Tensor::of<int8_t>(std::move(shape), codes);
}

} // namespace

std::optional<Int8Weights> int8_weights(const Tensor& w, const Tensor* zero, bool sums_up) {
  const auto raw = w.to_ints();
  const Result<std::vector<int64_t>> zeros =
      zero != nullptr ? zero->to_ints() : Result<std::vector<int64_t>>(std::vector<int64_t>{0});
  if (!raw.ok() || !zeros.ok() || raw->empty()) return std::nullopt;
  const auto channels = static_cast<size_t>(w.dim(0));
  if (zeros->size() != 1 && zeros->size() != channels) return std::nullopt;
  const size_t terms = raw->size() / channels;
  const auto zero_of = [&](size_t channel) { return (*zeros)[zeros->size() == 1 ? 0 : channel]; };
  const auto less = [&](const auto& shift) {
    std::vector<int64_t> out(raw->size());
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = (*raw)[i] - shift(i / terms);
    return out;
  };
  if (auto codes = as_int8(less(zero_of), w.shape())) return Int8Weights{*std::move(codes), {}};
  if (!sums_up || w.type() != DType::kUint8) return std::nullopt;
  std::vector<int64_t> centered = less([](size_t) { return int64_t{128}; });
  centered.insert(centered.end(), terms, 1);
  Shape shape = w.shape();
  ++shape[0];
  auto codes = as_int8(centered, std::move(shape));
  if (!codes) return std::nullopt;
  Int8Weights out{*std::move(codes), {}};
  out.left.reserve(channels);
  for (size_t channel = 0; channel < channels; ++channel)
    out.left.push_back(static_cast<int32_t>(zero_of(channel) - 128));
  return out;
}

ValueId
without_left(Context& c, const Node& node, ValueId sums, const Int8Weights& weights, int64_t rank) {
  const std::vector<int32_t>& left = weights.left;
  if (left.empty()) return sums;
  const auto channels = static_cast<int64_t>(left.size());
  const auto name = [&](const char* part) { return node.name + "/" + part; };
  const auto list = [&](const char* part, int64_t value) {
    return c.out().add_constant(name(part), int_list(std::vector{value}));
  };
  const ValueId first = list("first", 0), middle = list("middle", channels),
                end = list("end", channels + 1), axis = list("axis", rank - 1);
  const ValueId many = c.out().emit("Slice", {sums, first, middle, axis}, {}, name("many"));
  const ValueId total = c.out().emit("Slice", {sums, middle, end, axis}, {}, name("total"));
  const ValueId factors = c.out().add_constant(name("left"), Tensor::of<int32_t>({channels}, left));
  const ValueId product = c.out().emit("Mul", {total, factors}, {}, name("product"));
  return c.out().emit("Sub", {many, product}, {}, name("difference"));
}

} // namespace octet::lowering
