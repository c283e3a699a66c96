// SPDX-License-Identifier: Apache-2.0
#include "ops/qdq/stored.h"

#include <algorithm>

#include "ops/evaluate.h"

namespace octet::qdq {

Found<StoredCodes> stored_codes(const Graph& graph, ValueId real) {
  constexpr Reading kStored{.written_zero = false,
                            .f32_scale = true,
                            .byte_codes = true,
                            .lone_zero = true,
                            .folded = true,
                            .microsoft = false};
  auto site = read_dequantize(graph, real, kStored);
  if (!site) return site.why();
  auto codes = constant_value(graph, site->codes);
  if (!codes) return WhyNot::kCodesComputed;
  if (codes->type() != site->grid.codes) return WhyNot::kCodesType;
  return StoredCodes{std::move(*codes), std::move(site->grid)};
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

} // namespace octet::qdq
