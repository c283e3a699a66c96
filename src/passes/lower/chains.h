// SPDX-License-Identifier: Apache-2.0
// Rules that lowering runs first: chains of small operators that are one operator of octet.native,
// and lines and volumes that are images.
#pragma once

#include "passes/rewrite.h"

namespace octet::lowering {

RuleFn cancel_height;
RuleFn fuse_gelu;
RuleFn fuse_layer_norm;
RuleFn lines_to_images;
RuleFn sink_squeeze;
RuleFn volume_conv_to_images;
RuleFn volume_pool_to_images;

} // namespace octet::lowering
