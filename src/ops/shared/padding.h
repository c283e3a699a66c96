// SPDX-License-Identifier: Apache-2.0
// What Pad adds to each axis, and which element of x stands there.
#pragma once

#include <optional>
#include <vector>

#include "ops/shared/types.h"

namespace octet {

enum class PadMode { kConstant, kReflect, kEdge, kWrap };
Result<PadMode> pad_mode(const Node& node);

/// Elements added before and after each axis of x; negative where they are taken away.
struct PadAmounts {
  std::vector<Dim> before, after;
};
/// Nothing: not known before it runs. Errors: a count that does not fit the axes, amounts beyond
/// 2^40.
Result<std::optional<PadAmounts>> pad_amounts(const InferContext& ctx, int64_t rank);
/// The same of actual tensors, null for one that is left out.
Result<PadAmounts> pad_amounts(
    const Node& node, int64_t version, const Tensor* pads, const Tensor* axes, int64_t rank);
/// What constant padding holds, as a scalar; `value` is the node's third input or null.
Result<Tensor> pad_fill(const Node& node, int64_t version, DType type, const Tensor* value);
/// Which element of an axis of `size` stands at place `at`, counted from its first; -1: the
/// constant.
int64_t pad_source(int64_t at, int64_t size, PadMode mode);

} // namespace octet
