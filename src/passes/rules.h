// SPDX-License-Identifier: Apache-2.0
// The rewrite rules of this room, one file each. Each file starts with a drawing of what it does
// and says whether numbers change.
#pragma once

#include "passes/rewrite.h"

namespace octet {

RuleFn constant_to_initializer;
RuleFn eliminate_dropout;
RuleFn eliminate_identity;
RuleFn fold_batchnorm;
RuleFn fold_constants;
RuleFn fold_shape;

/// Constants that folding may add: no more than this, or than the constants it came from.
inline constexpr int64_t kFoldBudgetBytes = int64_t{4} << 20;

} // namespace octet
