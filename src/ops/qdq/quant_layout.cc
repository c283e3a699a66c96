// SPDX-License-Identifier: Apache-2.0
// Which scale belongs to which element.
#include "ops/qdq/quant_layout.h"

#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "ops/shared/validate.h"

namespace octet {
namespace {

bool one_element(const TypeInfo& t) {
  const auto shape = t.static_shape();
  if (!shape) return false;
  return product(*shape, 0, shape->size()) == 1;
}

Status check_blocked(const TypeInfo& x, const TypeInfo& scale, size_t axis, int64_t block) {
  for (size_t i = 0; i < scale.shape->size(); ++i) {
    const Dim& have = (*scale.shape)[i];
    const Dim& dim = (*x.shape)[i];
    if (!have.is_constant() || !dim.is_constant()) continue;
    const int64_t per = i == axis ? block : 1;
    const int64_t want = dim.value() / per + (dim.value() % per == 0 ? 0 : 1);
    if (have.value() != want)
      return error("the scale has {} elements on axis {}; blocks of {} over {} need {}",
                   have.value(), i, i == axis ? block : 1, dim.value(), want);
  }
  return ok_status();
}

} // namespace

std::optional<CodeRange> code_range(DType type) {
  switch (type) {
  case DType::kUint8:
    return CodeRange{0, 255};
  case DType::kInt8:
    return CodeRange{-128, 127};
  case DType::kUint16:
    return CodeRange{0, 65535};
  case DType::kInt16:
    return CodeRange{-32768, 32767};
  case DType::kUint4:
    return CodeRange{0, 15};
  case DType::kInt4:
    return CodeRange{-8, 7};
  case DType::kUint2:
    return CodeRange{0, 3};
  case DType::kInt2:
    return CodeRange{-2, 1};
  default:
    return std::nullopt;
  }
}

Range dequantized_range(const RangeContext& context) {
  const Tensor *scale = context.constant(1), *zero = context.constant(2);
  if (scale == nullptr || zero == nullptr || scale->count() == 0) return kEverything;
  const auto codes = code_range(zero->type());
  if (!codes || scale->rank() > 1 || zero->count() != scale->count()) return kEverything;
  Range out{kEverything.hi, kEverything.lo};
  for (int64_t i = 0; i < scale->count(); ++i)
    for (const int32_t code : {codes->lo, codes->hi}) {
      const double value = (code - zero->at(i)) * scale->at(i);
      if (!std::isfinite(value)) return kEverything;
      out = {std::min(out.lo, value), std::max(out.hi, value)};
    }
  return out;
}

Status
check_quant_layout(const TypeInfo& x, const TypeInfo& scale, int64_t axis, int64_t block_size) {
  if (block_size < 0) return error("block_size {}; use 0 or a positive number", block_size);
  if (!x.has_rank() || !scale.has_rank() || scale.rank() == 0 || one_element(scale))
    return ok_status();
  const int64_t front = OCTET_TRY(normalize_axis(axis, x.rank()));
  if (block_size > 0) {
    if (scale.rank() != x.rank())
      return error("a blocked scale has rank {} and the tensor rank {}; make them equal",
                   scale.rank(), x.rank());
    return check_blocked(x, scale, static_cast<size_t>(front), block_size);
  }
  if (scale.rank() != 1)
    return error("a scale of rank {} needs block_size; give it or use a scalar or a vector",
                 scale.rank());
  OCTET_TRY(merge_dims((*scale.shape)[0], (*x.shape)[static_cast<size_t>(front)],
                       "scales and elements on the quantized axis"));
  return ok_status();
}

QuantLayout quant_layout(std::span<const int64_t> x,
                         std::span<const int64_t> scale,
                         int64_t axis,
                         int64_t block_size) {
  QuantLayout l;
  if (product(scale, 0, scale.size()) == 1) {
    l.inner = product(x, 0, x.size());
    return l;
  }
  const size_t a = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(x.size()) : axis);
  l.outer = product(x, 0, a);
  l.axis_size = x[a];
  l.inner = product(x, a + 1, x.size());
  l.block_stride = 1;
  if (block_size == 0) return l;
  l.block = block_size;
  l.block_stride = l.inner;
  l.inner_stride = 1;
  l.outer_stride = scale[a] * l.inner;
  return l;
}

Status subtract_zero_points(std::span<int64_t> values, const Tensor& zero, int64_t rows) {
  if (zero.count() != 1 && zero.count() != rows)
    return error("{} zero points for {} channels; give one or as many", zero.count(), rows);
  if (values.empty()) return ok_status();
  const auto zeros = OCTET_TRY(zero.to_ints());
  const size_t part = values.size() / zeros.size();
  for (size_t i = 0; i < values.size(); ++i)
    values[i] -= zeros[i / part];
  return ok_status();
}

} // namespace octet
