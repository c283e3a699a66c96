// SPDX-License-Identifier: Apache-2.0
// Rules that lowering runs first: chains of small operators that are one operator of
// octet.native, and operators that are several.
#pragma once

#include "passes/rewrite.h"

namespace octet::lowering {

RuleFn decompose_einsum;
RuleFn fuse_gelu;
RuleFn fuse_layer_norm;
RuleFn multiply_matrices;
RuleFn split_gemm;

} // namespace octet::lowering
