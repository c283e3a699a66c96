// SPDX-License-Identifier: Apache-2.0
// What lowered nodes say of codes: their range, and the fused epilogue.
#pragma once

#include "runtime/kernels/igemm.h"
#include "runtime/step.h"

#include "octet/graph.h"

namespace octet::runtime {

/// The codes that a value can hold, from the clamp of the node that makes it.
kernels::XRange code_range_of(const Graph& graph, ValueId id);

/// The codes that a QConv reads: those of its input and, where it is padded, its zero point.
kernels::XRange read_range_of(const Graph& graph, const Node& conv);

/// A zero point that is there when a step runs, of codes of `type`; 0 where there is none (-1).
int32_t zero_point_at(Slots slots, int32_t id, DType type);

/// The epilogue that the attributes of a QGemm, QConv or QMatMul state; input 4 is the residual.
/// Memory is set when the node is bound.
kernels::Epilogue epilogue_of(const PrepareContext& c);

} // namespace octet::runtime
