// SPDX-License-Identifier: Apache-2.0
// What the Skip normalizations (com.microsoft) share: x + skip + bias and what comes out.
#pragma once

#include "ops/op.h"

namespace octet::ms {

/// Of nodes whose inputs are x, skip, gamma, and then vectors along the last axis, `most` inputs in
/// all: outputs y, mean and factor [..., 1] in float, x + skip + bias. x and skip broadcast, where
/// ONNX Runtime takes a skip of x's shape, with batch 1 or without one. Errors: shapes and types
/// that do not fit.
Result<std::vector<OutputInfo>> infer_skip(const InferContext& ctx, size_t most);

/// x + skip + the input `bias`, which may be omitted, in double, of `shape`, to which they broadcast.
Result<std::vector<double>> skip_sum(const EvalContext& ctx, const Shape& shape, size_t bias);

} // namespace octet::ms
