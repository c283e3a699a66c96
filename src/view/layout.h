// SPDX-License-Identifier: Apache-2.0
// Places of boxes and routes of edges, by Graphviz' dot, which is loaded at the first use.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/shared_library.h"

#include "octet/result.h"

namespace octet::view {

struct Box {
  enum class Side : uint8_t { kAny, kFirst, kLast }; ///< the first rank, or the last
  double width = 0, height = 0;
  Side side = Side::kAny;
};

/// From one box down to another, as a chain of cubic Bézier curves: x, y of the first point, then of
/// three for each curve; or a straight line between two points.
struct Route {
  int32_t from = 0, to = 0;
  std::vector<float> points;
};

struct Layout {
  double width = 0, height = 0;
  std::vector<std::pair<float, float>> centres; ///< by box; y grows downwards
  std::vector<Route> routes;                    ///< of each edge, in their order
};

/// dot of a loaded libgvc. Not thread-safe.
class LayoutEngine {
 public:
  /// Errors: no libgvc; they name the package.
  static Result<LayoutEngine> load();
  /// Edges name boxes and are all different. Of a dense graph only the first thousand edges say
  /// where boxes stand; the others are drawn straight. Errors: what Graphviz cannot do.
  Result<Layout> lay_out(std::span<const Box> boxes,
                         std::span<const std::pair<int32_t, int32_t>> edges) const;

 private:
  LayoutEngine() = default;

  // Declared here for want of more than pointers that cross: the package of headers brings a
  // desktop's worth of libraries with it.
  void* context_ = nullptr;
  void* (*read_)(const char*) = nullptr;
  int (*close_)(void*) = nullptr;
  int (*layout_)(void*, void*, const char*) = nullptr;
  int (*free_layout_)(void*, void*) = nullptr;
  int (*render_)(void*, void*, const char*, char**, size_t*) = nullptr;
  void (*free_text_)(char*) = nullptr;
};

} // namespace octet::view
