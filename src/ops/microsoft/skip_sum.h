// SPDX-License-Identifier: Apache-2.0
// What the Skip normalizations (com.microsoft) share: x + skip + bias and what comes out.
#pragma once

#include "ops/op.h"

namespace octet::ms {

/// Of nodes whose inputs are x, skip, gamma, and then vectors along the last axis, `most` inputs in
/// all: outputs y, mean and factor [..., 1] in float, x + skip + bias. Errors: shapes and types that
/// do not fit.
Result<std::vector<OutputInfo>> infer_skip(const InferContext& ctx, size_t most);

/// x + skip + the input `bias`, which may be omitted, in double; skip broadcasts.
Result<std::vector<double>> skip_sum(const EvalContext& ctx, size_t bias);

} // namespace octet::ms
