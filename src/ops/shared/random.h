// SPDX-License-Identifier: Apache-2.0
// Tensors of drawn numbers, as RandomNormal, RandomUniform, Bernoulli and Multinomial give them.
// The numbers are octet's own (core/philox.h).
#pragma once

#include "core/philox.h"
#include "ops/shared/validate.h"

namespace octet {

/// The generator of the attribute seed, or without it of the node's own.
Philox generator_of(const EvalContext& ctx);
/// The attribute dtype, else `otherwise`. Errors: one that is not in the set.
Result<DType> drawn_type(const Node& node, DType otherwise, TypeSet allowed);

/// Normal numbers of the attributes mean and scale, uniform ones between low and high.
enum class Distribution { kNormal, kUniform };
/// RandomNormal and RandomUniform: of the attribute shape.
Result<std::vector<OutputInfo>> infer_random(const InferContext& ctx);
/// RandomNormalLike and RandomUniformLike: of the input's shape.
Result<std::vector<OutputInfo>> infer_random_like(const InferContext& ctx);
Result<std::vector<Tensor>>
eval_random(InferFn* infer, const EvalContext& ctx, Distribution distribution);

} // namespace octet
