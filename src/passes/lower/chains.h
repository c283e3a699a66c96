// SPDX-License-Identifier: Apache-2.0
// Rules that lowering runs first: chains of small operators that are one operator of octet.native,
// and quantizers that move to where codes can be made.
#pragma once

#include "passes/rewrite.h"

namespace octet::lowering {

RuleFn fuse_gelu;
RuleFn fuse_layer_norm;
RuleFn quantize_before_moving;
RuleFn scale_by_quantizing;

} // namespace octet::lowering
