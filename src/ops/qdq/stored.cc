// SPDX-License-Identifier: Apache-2.0
#include "ops/qdq/stored.h"

#include <algorithm>

#include "ops/evaluate.h"

namespace octet::qdq {

Found<Site> stored_site(const Graph& graph, ValueId real) {
  constexpr Reading kStored{.written_zero = false,
                            .f32_scale = true,
                            .lone_zero = true,
                            .folded = true,
                            .microsoft = false};
  auto site = read_dequantize(graph, real, kStored);
  if (!site) return site.why();
  if (!is_integer(site->grid.codes) || bits(site->grid.codes) > 8) return WhyNot::kCodesType;
  if (!comes_of_constants(graph, site->codes)) return WhyNot::kCodesComputed;
  return site;
}

Found<StoredCodes> stored_codes(const Graph& graph, ValueId real) {
  auto site = stored_site(graph, real);
  if (!site) return site.why();
  auto codes = constant_value(graph, site->codes);
  if (!codes) return WhyNot::kCodesComputed;
  if (codes->type() != site->grid.codes) return WhyNot::kCodesType;
  return StoredCodes{std::move(*codes), std::move(site->grid)};
}

StoredCodes in_bytes(StoredCodes stored) {
  if (bits(stored.codes.type()) == 8) return stored;
  const DType type = is_signed(stored.codes.type()) ? DType::kInt8 : DType::kUint8;
  Tensor bytes = Tensor::zeros(type, stored.codes.shape()).value();
  const std::span<std::byte> to = bytes.mutable_bytes();
  for (int64_t i = 0; i < stored.codes.count(); ++i)
    to[static_cast<size_t>(i)] = static_cast<std::byte>(static_cast<int64_t>(stored.codes.at(i)));
  stored.codes = std::move(bytes);
  stored.grid = stored.grid.with(type, stored.grid.zeros());
  return stored;
}

Found<StoredCodes> symmetric_int8(const StoredCodes& stored) {
  const std::vector<double> zeros = stored.grid.zeros();
  const double zero = zeros.front();
  if (std::any_of(zeros.begin(), zeros.end(), [&](double z) { return z != zero; }))
    return WhyNot::kSeveralZeros;
  StoredCodes out = stored;
  out.grid.codes = DType::kInt8;
  out.grid.zero = Tensor();
  if (stored.codes.type() == DType::kInt8 && zero == 0) return out;
  out.codes = Tensor::zeros(DType::kInt8, stored.codes.shape()).value();
  const auto to = out.codes.mutable_data<int8_t>();
  for (int64_t i = 0; i < stored.codes.count(); ++i) {
    const double code = stored.codes.at(i) - zero;
    if (code < -128 || code > 127) return WhyNot::kOutOfInt8;
    to[static_cast<size_t>(i)] = static_cast<int8_t>(code);
  }
  return out;
}

Found<StoredCodes> less_zeros(const StoredCodes& stored, int64_t least, int64_t most) {
  if (auto symmetric = symmetric_int8(stored)) return symmetric;
  const Grid& grid = stored.grid;
  if (grid.block != 0 || (!grid.per_tensor() && !grid.axis)) return WhyNot::kGranularity;
  const auto codes = stored.codes.to_ints();
  if (!codes.ok()) return WhyNot::kCodesType;
  const std::vector<double> zeros = grid.zeros();
  // Elements between neighbours of the axis; one channel of all where there is one scale.
  int64_t inner = stored.codes.count();
  if (grid.axis) {
    inner = 1;
    for (int64_t i = *grid.axis + 1; i < stored.codes.rank(); ++i)
      inner *= stored.codes.dim(i);
  }
  StoredCodes out = stored;
  out.grid.codes = DType::kInt8;
  out.grid.zero = Tensor();
  std::vector<int16_t> less(codes->size());
  bool fits_int8 = true;
  for (size_t i = 0; i < less.size(); ++i) {
    const size_t channel = i / static_cast<size_t>(inner) % zeros.size();
    const int64_t code = (*codes)[i] - static_cast<int64_t>(zeros[channel]);
    if (code < least || code > most) return WhyNot::kOutOfInt8;
    fits_int8 = fits_int8 && code >= -128 && code <= 127;
    less[i] = static_cast<int16_t>(code);
  }
  if (!fits_int8) {
    out.codes = Tensor::of<int16_t>(stored.codes.shape(), std::span<const int16_t>(less));
    return out;
  }
  out.codes = Tensor::zeros(DType::kInt8, stored.codes.shape()).value();
  std::transform(less.begin(), less.end(), out.codes.mutable_data<int8_t>().begin(),
                 [](int16_t v) { return static_cast<int8_t>(v); });
  return out;
}

} // namespace octet::qdq
