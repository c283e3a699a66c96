// SPDX-License-Identifier: Apache-2.0
// The two sides of shift_activation: a constant is added before a quantizer and taken off behind
// its dequantizers, where possible in constants that are there already.
#pragma once

#include <string>

#include "ops/qdq/grid.h"
#include "repair/rule.h"

namespace octet {

/// How far values are followed through what only moves them.
constexpr int kShiftDepth = 16;

/// A value that equals `x` + `by`, where `x` has one use: in the bias, the beta or the constant
/// that made it, also in front of what only moves values; else an Add of its own.
ValueId emit_shifted(Patch& patch,
                     const RepairContext& context,
                     ValueId x,
                     double by,
                     DType type,
                     const std::string& name);

/// Makes every reader of `old` one of `now`, which is `old` - `by`. Products with constant weights
/// take it with `by` times the sums of their weights in the bias, what only moves values takes it
/// as it is, and the rest reads an Add. False: a reader multiplies `old` with what is no constant,
/// or pads it.
bool shift_readers(
    Patch& patch, const RepairContext& context, ValueId old, ValueId now, double by, DType type);

/// Whether int8 holds the codes of `grid` without their zero point, so that its scale can stay.
bool fits_int8(const RepairContext& context, ValueId x, const qdq::Grid& grid);

} // namespace octet
