// SPDX-License-Identifier: Apache-2.0
// What the copying steps share. They take elements of whole bytes; strings and packed types run by
// reference.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/format.h"
#include "runtime/step.h"

namespace octet::runtime {

/// Bytes of an element that the copies take; 0 for others.
inline int64_t width_of(DType type) {
  if (type == DType::kString || bits(type) < 8) return 0;
  return bits(type) / 8;
}

/// Why a copy does not take an input.
inline std::optional<std::string> refuse_copy(const PrepareContext& c, size_t input = 0) {
  if (width_of(c.type(input).type) == 0)
    return fmt::format("copy: elements of type {} have no whole bytes",
                       octet::name(c.type(input).type));
  if (!c.type(input).has_rank()) return "copy: the rank is not known";
  return std::nullopt;
}

/// Offsets along an axis of `size` places that lie `stride` elements apart in x.
std::vector<int64_t> along(int64_t size, int64_t stride);
/// y = the elements of x at the sums of offsets `from`, for each axis of y; none is a fill.
Result<std::unique_ptr<Step>>
move_step(const Operand& x, const Operand& y, std::vector<std::vector<int64_t>> from);

} // namespace octet::runtime
