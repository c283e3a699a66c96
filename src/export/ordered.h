// SPDX-License-Identifier: Apache-2.0
// The rules that write the QOrdered operators of com.microsoft, in the order in which they run.
#pragma once

#include "passes/rewrite.h"

namespace octet {

RuleFn ordered_attention;
RuleFn ordered_product, ordered_gelu, ordered_norm;

} // namespace octet
