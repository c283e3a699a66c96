// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/grid_sample.h"

#include "core/format.h"

namespace octet {

Result<GridSampleAttrs> parse_grid_sample(const Node& node) {
  GridSampleAttrs a;
  const std::string mode = node.attr_string("mode", "linear");
  if (mode == "nearest")
    a.mode = Sampling::kNearest;
  else if (mode == "cubic" || mode == "bicubic")
    a.mode = Sampling::kCubic;
  else if (mode != "linear" && mode != "bilinear")
    return error("mode is \"{}\"; use linear, nearest or cubic", mode);
  const std::string padding = node.attr_string("padding_mode", "zeros");
  if (padding == "border")
    a.beyond = Beyond::kEdge;
  else if (padding == "reflection")
    a.beyond = Beyond::kMirror;
  else if (padding != "zeros")
    return error("padding_mode is \"{}\"; use zeros, border or reflection", padding);
  a.align_corners = node.attr_int("align_corners", 0) != 0;
  return a;
}

} // namespace octet
