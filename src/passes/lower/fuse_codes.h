// SPDX-License-Identifier: Apache-2.0
// Float elementwise nodes of a lowered graph between codes.
#pragma once

#include <vector>

#include "passes/lower/lower.h"

namespace octet::lowering {

/// Makes a QMap of each elementwise node that reads dequantized codes or whose result is only
/// quantized. Types must have been inferred. Changes no bit. The notes of what was fused say so.
Status fuse_codes(Graph& graph, std::vector<LowerNote>& notes);

} // namespace octet::lowering
