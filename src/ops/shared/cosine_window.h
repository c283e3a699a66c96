// SPDX-License-Identifier: Apache-2.0
// What HannWindow, HammingWindow and BlackmanWindow share: y[n] = a0 - a1 cos(2 pi n / N) +
// a2 cos(4 pi n / N), where N is the size (periodic) or the size - 1.
#pragma once

#include "ops/shared/types.h"

namespace octet {

struct CosineTerms {
  double a0, a1, a2;
};

/// Input: the size, an integer scalar; attributes output_datatype (f32) and periodic (1).
Result<std::vector<OutputInfo>> infer_cosine_window(const InferContext& ctx);
Result<std::vector<Tensor>> eval_cosine_window(const EvalContext& ctx, const CosineTerms& terms);

} // namespace octet
