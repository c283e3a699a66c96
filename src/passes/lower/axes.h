// SPDX-License-Identifier: Apache-2.0
// Axes of a node, as it lists them, and where they are stored.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "passes/lower/context.h"

namespace octet::lowering {

/// The elements of a constant i64 or i32 list; nullopt when it is none.
std::optional<std::vector<int64_t>> known_integers(const Context& c, ValueId id);
/// The attribute `axes`, or the constant input that took its place, each in [0, rank), none twice.
/// Empty: none are listed. nullopt: they are not known, or not such axes.
std::optional<std::vector<int64_t>>
known_axes(const Context& c, const Node& node, size_t input, int64_t rank);
/// Where those axes are stored.
std::vector<int64_t> stored_axes(const Layout& layout, std::span<const int64_t> axes, int64_t rank);
/// Puts axes where `made`, a copy of a node of the source, has them: attribute or input.
void set_axes(Context& c, Node& made, size_t input, const std::vector<int64_t>& axes);

} // namespace octet::lowering
