// SPDX-License-Identifier: Apache-2.0
// Writing what a grid says: Q and DQ, or the same arithmetic in other operators.
#pragma once

#include <string>

#include "graph/patch.h"
#include "ops/qdq/grid.h"

namespace octet::qdq {

/// Constants `<name>_scale` and `<name>_zero_point`, and a node `name` of them, with the axis as
/// written where there are several scales. The grid has a zero point and no blocks.
ValueId emit_quantize(Patch& patch, const Grid& grid, ValueId x, const std::string& name);
ValueId emit_dequantize(Patch& patch, const Grid& grid, ValueId codes, const std::string& name);

/// What DQ gives, by Cast, Sub and Mul: the same bits. `rank`: of the codes; counts only with
/// several scales.
ValueId emit_arithmetic(
    Patch& patch, const Grid& grid, ValueId codes, int64_t rank, const std::string& name);

} // namespace octet::qdq
