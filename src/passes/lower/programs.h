// SPDX-License-Identifier: Apache-2.0
// Float elementwise nodes as programs of octet.native Map.
#pragma once

#include <optional>
#include <vector>

#include "core/numerics/program.h"

#include "octet/graph.h"

namespace octet::lowering {

/// A program and what it is run on. Constants of one element stand in the program.
struct Mapped {
  /// A value of the graph, or a constant that the node's operands were made to.
  struct Input {
    ValueId id;
    std::optional<Tensor> made;
  };
  numerics::Program program;
  std::vector<Input> inputs;
};

enum class Bits {
  kAny,  ///< the program may round otherwise than the node: octet.native specifies it
  kSame, ///< only programs with the bits of the node's eval
};

/// The program of a node of one f32 output that works element by element; nullopt for others, and
/// where what it needs is not known.
std::optional<Mapped> mapped(const Graph& graph, const Node& node, Bits bits);

/// Whether an operand of type `x` is as large as the result y, for all that is known: it is not where
/// an axis surely repeats. Says what is worth while, not what is right.
bool covers(const TypeInfo& x, const TypeInfo& y);

/// `producer`, whose result is input `k` of `consumer`, and `consumer` in one; nullopt when that is
/// more than a program holds. The bits are those of one after the other.
std::optional<Mapped> joined(const Mapped& producer, const Mapped& consumer, size_t k);

/// Makes it the node's: a Map, whatever it was. Inputs must be values.
void set_map(Node& node, const Mapped& mapped);

} // namespace octet::lowering
