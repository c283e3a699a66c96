// SPDX-License-Identifier: Apache-2.0
// What a file declares of values that nodes compute. It is a hint: two outputs that are declared
// [n, m] need not have the same sizes, and a rewrite that took them for equal would be wrong.
#pragma once

#include <map>
#include <string>

#include "octet/graph.h"

namespace octet {

/// Forgets shapes of what nodes compute, and in bodies those of their inputs: what is inferred then
/// follows from operators and the graph's inputs alone. Element types stay.
void forget_declared_shapes(Graph& graph);

/// By the name of the value, in bodies too.
using DeclaredTypes = std::map<std::string, TypeInfo>;

/// forget_declared_shapes; what was forgotten.
DeclaredTypes take_declared_shapes(Graph& graph);

/// Where a value of the name is still computed, what is not known of it.
void fill_in_declared(Graph& graph, const DeclaredTypes& declared);

} // namespace octet
