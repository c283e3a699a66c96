// SPDX-License-Identifier: Apache-2.0
// The rewrite rules of this room, one file each. Each file starts with a drawing of what it does
// and says whether numbers change.
#pragma once

#include "passes/rewrite.h"

namespace octet {

RuleFn cast_like_to_cast;
RuleFn constant_to_initializer;
RuleFn drop_unused_outputs;
RuleFn eliminate_dropout;
RuleFn eliminate_duplicates;
RuleFn eliminate_identity;
RuleFn eliminate_nan_guard;
RuleFn eliminate_neutral;
RuleFn eliminate_neutral_parameters;
RuleFn eliminate_repeated;
RuleFn eliminate_same_shape;
RuleFn eliminate_true;
RuleFn floor_pool;
RuleFn fold_batchnorm;
RuleFn fold_bias;
RuleFn fold_constants;
RuleFn fold_expand_shape;
RuleFn fold_if;
RuleFn free_loop_invariants;
RuleFn fold_known_elements;
RuleFn fold_ordered_gather;
RuleFn fold_pad;
RuleFn fold_reshape_shape;
RuleFn fold_scale;
RuleFn fold_shape;
RuleFn fold_small_constants; ///< none whose result is larger than the byte budget
RuleFn fold_weights;         ///< those of products, however large: for who stores them in 8 bits
RuleFn fuse_gelu;
RuleFn fuse_layer_norm;
RuleFn merge_attention_scales;
RuleFn merge_batched_transpose;
RuleFn merge_casts;
RuleFn merge_factors;
RuleFn merge_reshapes;
RuleFn merge_shape_parts;
RuleFn merge_transposes;
RuleFn order_bias;
RuleFn remove_training_dropout;
RuleFn skip_expand;
RuleFn sum_to_add;

/// Constants that folding may add: no more than this, or than the constants it came from.
inline constexpr int64_t kFoldBudgetBytes = int64_t{4} << 20;

} // namespace octet
