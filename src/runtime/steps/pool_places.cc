// SPDX-License-Identifier: Apache-2.0
// MaxPool that also says where its elements stood, plane by plane.
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/threads.h"
#include "ops/shared/pooling.h"
#include "runtime/steps/call.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

constexpr double kTapNs = 1;

template <class T>
bool replaces(T v, T best) {
  if constexpr (std::is_floating_point_v<T>)
    return v > best || (std::isnan(v) && !std::isnan(best));
  else
    return v > best;
}

struct Plane {
  const Window3& window;
  int64_t first = 0; ///< element of x
  bool by_columns = false;

  int64_t place(int64_t offset) const {
    return first + (by_columns ? column_major(window, offset) : offset);
  }
};

/// A window that lies in its padding alone gives the least number, and -1 for its place.
template <class T>
void pool_plane(const Plane& plane, const T* x, T* y, int64_t* places) {
  const Window3& g = plane.window;
  constexpr T kLeast = std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity()
                                                   : std::numeric_limits<T>::lowest();
  for (int64_t d = 0; d < g.out[0]; ++d)
    for (int64_t h = 0; h < g.out[1]; ++h)
      for (int64_t w = 0; w < g.out[2]; ++w) {
        T best = kLeast;
        int64_t place = -1;
        for_each_tap(g, d, h, w, [&](int64_t offset) {
          if (place >= 0 && !replaces(x[offset], best)) return;
          best = x[offset];
          place = offset;
        });
        *y++ = best;
        *places++ = place < 0 ? -1 : plane.place(place);
      }
}

struct Ids {
  int32_t x, y, places;
};

template <class T>
Result<std::unique_ptr<Step>>
step_of(const Window3& window, int64_t planes, bool by_columns, Ids ids) {
  return call_step([window, planes, by_columns, ids](Slots slots, ParallelFor& parallel) {
    const T* x = at<const T>(slots, ids.x);
    T* y = at<T>(slots, ids.y);
    auto* places = at<int64_t>(slots, ids.places);
    const double ns = kTapNs * static_cast<double>(window.out_count() * window.kernel_count());
    parallel.run(planes, grain_for(ns), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        const int64_t from = p * window.in_count(), to = p * window.out_count();
        pool_plane(Plane{window, from, by_columns}, x + from, y + to, places + to);
      }
    });
  });
}

} // namespace

Choice prepare_max_pool_places(const PrepareContext& c) {
  const DType type = c.type(0).type;
  if (type != DType::kFloat32 && type != DType::kInt8 && type != DType::kUint8)
    return Choice::refuse("max_pool: elements are neither f32, i8 nor u8");
  if (!c.node.output(0).valid() || !c.node.output(1).valid())
    return Choice::refuse("max_pool: an output is left out");
  auto bind = [node = c.node, type](std::span<const Operand> in,
                                    std::span<const Operand> out) -> Result<std::unique_ptr<Step>> {
    const Window3 window = OCTET_TRY(pool_window(node, in[0].shape, out[0].shape));
    const int64_t planes = in[0].shape[0] * in[0].shape[1];
    const bool by_columns = node.attr_int("storage_order", 0) != 0;
    const Ids ids{in[0].id, out[0].id, out[1].id};
    if (type == DType::kFloat32) return step_of<float>(window, planes, by_columns, ids);
    if (type == DType::kInt8) return step_of<int8_t>(window, planes, by_columns, ids);
    return step_of<uint8_t>(window, planes, by_columns, ids);
  };
  return {bind_with(std::move(bind)), "max_pool", {}};
}

} // namespace octet::runtime
