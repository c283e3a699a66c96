// SPDX-License-Identifier: Apache-2.0
// What ArgMax and ArgMin share: the index of the best element along one axis.
#pragma once

#include "ops/shared/types.h"

namespace octet {

/// int64; the axis stays as 1 unless keepdims is 0.
Result<std::vector<OutputInfo>> infer_arg_best(const InferContext& ctx);
enum class Best { kLargest, kSmallest };
/// The first of equal elements, the last with select_last_index (opset 12). NaN is the best.
Result<std::vector<Tensor>> eval_arg_best(const EvalContext& ctx, Best best);

} // namespace octet
