// SPDX-License-Identifier: Apache-2.0
// What lines [N, C, L] and volumes of one plane [N, C, 1, H, W] share when they become images.
#pragma once

#include <functional>

#include "graph/edit.h"

namespace octet::lowering {

/// The axis of one element: the height of a line's image, the depth of a plane's volume.
inline constexpr int64_t kUnitAxis = 2;

/// Squeeze or Unsqueeze of that axis.
ValueId
emit_unit_axis(Patch& patch, const Graph& g, const char* op, ValueId x, const std::string& name);

/// Constant weights [O, I, ...] in the shape that `to` gives, with the same first two axes, through a
/// DQ whose scales run along one of these; nullopt where `to` gives none or they are others.
std::optional<ValueId>
reshaped_weights(Patch& patch,
                 const Graph& g,
                 ValueId w,
                 const std::function<std::optional<Shape>(const Shape&)>& to);

} // namespace octet::lowering
