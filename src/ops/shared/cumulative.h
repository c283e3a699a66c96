// SPDX-License-Identifier: Apache-2.0
// What CumSum and CumProd share: running results along the axis that the second input names.
// `exclusive` leaves the element itself out, `reverse` runs from the end.
#pragma once

#include "ops/shared/elementwise.h"

namespace octet {

Result<std::vector<OutputInfo>> infer_cumulative(const InferContext& ctx);
/// Results are kept in double, integers wrap; `start` is the result over no elements.
Result<std::vector<Tensor>>
eval_cumulative(const EvalContext& ctx, const BinaryFn& f, int64_t start);

} // namespace octet
