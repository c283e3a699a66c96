// SPDX-License-Identifier: Apache-2.0
// What is known of the values between Q and DQ.
#pragma once

#include "octet/graph.h"
#include "octet/observer.h"

namespace octet {

/// What the operators before a value say of its range: Relu, Clip, Sigmoid, Softmax, a DQ's codes,
/// through what only moves values.
Range range_by_operators(const Graph& graph, ValueId value);
/// An operator that takes elements of input 0 (and of no other) without computing.
bool moves_values(const Node& node);

} // namespace octet
