// SPDX-License-Identifier: Apache-2.0
// A Relu or Clip beside Q: quantization saturates too. One behind Q leaves codes of fewer bits.
#pragma once

#include <optional>

#include "ops/qdq/grid.h"

#include "octet/graph.h"

namespace octet::qdq {

/// What Relu or Clip lets through.
struct Clamp {
  double lo, hi;
};
/// Of Clip by its attributes (before operator set 11) or inputs; nullopt where one is computed or
/// has several elements, and for other operators.
std::optional<Clamp> clamp_of(const Graph& graph, const Node& node);

/// The codes of a range that a Clip of codes leaves; nullopt: none, or a bound is computed.
std::optional<CodeRange> clamped_range(const Graph& graph, const Node& clamp, CodeRange all);
/// The numbers that the ends of a range of codes stand for: Q of what they let through are codes of
/// the range, and the same, for a bound of the form k s divides back to k. For one scale.
Clamp numbers_of(const Grid& grid, CodeRange range);
/// Whether floats hold both bounds.
bool are_floats(const Clamp& clamp);

/// Q(clamp(x)) is Q(x) for every float x: the bounds' codes lie on or beyond the last ones. What a
/// runtime does with a clamp is another matter. For integer codes and one scale; else false.
bool saturation_does(const Grid& grid, const Clamp& clamp);

/// A Relu or Clip of the codes that a Q makes.
bool clamps_codes(const Graph& graph, const Node& node);
/// The one through which alone `codes` are read, as in Q ─▶ Clip ─▶ DQ: codes of fewer bits than
/// their type has. Null: none, or something else reads them too.
const Node* clamp_behind(const Graph& graph, const Uses& uses, ValueId codes);

} // namespace octet::qdq
