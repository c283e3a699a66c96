// SPDX-License-Identifier: Apache-2.0
// octet.native Resize and QResize: nearest copies, linear and cubic run as passes over one or two
// axes.
#include "runtime/kernels/resize.h"

#include <limits>

#include "core/format.h"
#include "core/threads.h"
#include "ops/native/qresize.h"
#include "ops/shared/movement.h"
#include "ops/shared/resize.h"
#include "runtime/kernels/buffer.h"
#include "runtime/steps/call.h"
#include "runtime/steps/copies.h"
#include "runtime/steps/map.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

constexpr int64_t kVersion = 19; // of ONNX's Resize, whose attributes the operator has

/// Runs of columns as short as this are gathered element by element.
constexpr int64_t kShortRun = 16;

Result<std::vector<ResizeAxis>> axes_of(const ResizeAttrs& a, std::span<const Operand> in) {
  const auto list = [&](size_t i) {
    const bool given = i < in.size() && in[i].known && in[i].known->count() > 0;
    return given ? in[i].known : nullptr;
  };
  if (list(1) == nullptr && list(2) == nullptr)
    return error(ErrorCode::kUnsupported,
                 "the scales or sizes depend on data; run it with the reference executor");
  return resize_axes(a, in[0].shape, list(1), list(2));
}

Result<std::unique_ptr<Step>> bind_nearest(const ResizeAttrs& a,
                                           const std::vector<ResizeAxis>& sizes,
                                           std::span<const Operand> in,
                                           std::span<const Operand> out) {
  const Shape own = strides_of(in[0].shape);
  std::vector<std::vector<int64_t>> from(own.size());
  for (size_t axis = 0; axis < own.size(); ++axis)
    for (int64_t k = 0; k < out[0].shape[axis]; ++k)
      from[axis].push_back(nearest_index(a, sizes, static_cast<int64_t>(axis), k) * own[axis]);
  return move_step(in[0], out[0], std::move(from));
}

bool changes(const std::vector<std::vector<ResizeTap>>& taps, int64_t in) {
  if (static_cast<int64_t>(taps.size()) != in) return true;
  for (size_t i = 0; i < taps.size(); ++i)
    if (taps[i].size() != 1 || taps[i][0].index != static_cast<int64_t>(i) ||
        taps[i][0].weight != 1)
      return true;
  return false;
}

/// The taps for each of `repeat` elements that lie together.
Result<kernels::ResizeTaps> taps_of(const std::vector<std::vector<ResizeTap>>& places,
                                    int64_t repeat) {
  kernels::ResizeTaps out;
  for (const auto& taps : places)
    out.most = std::max(out.most, std::ssize(taps));
  out.places = std::ssize(places) * repeat;
  out.index.assign(static_cast<size_t>(out.most * out.places), 0);
  out.weight.assign(out.index.size(), 0.0F);
  for (size_t p = 0; p < places.size(); ++p)
    for (size_t k = 0; k < places[p].size(); ++k)
      for (int64_t e = 0; e < repeat; ++e) {
        const int64_t index = places[p][k].index * repeat + e;
        if (index > std::numeric_limits<int32_t>::max())
          return error(ErrorCode::kUnsupported, "a row of {} elements or more is too long",
                       int64_t{1} << 31);
        const auto at = k * static_cast<size_t>(out.places) + p * static_cast<size_t>(repeat) +
                        static_cast<size_t>(e);
        out.index[at] = static_cast<int32_t>(index);
        out.weight[at] = places[p][k].weight;
      }
  return out;
}

using AxisTaps = std::vector<std::vector<ResizeTap>>;

/// A pass over columns of axis `column` and rows of the axis before it; without `rows` that axis
/// stays. Changes `shape` to what comes out.
Result<kernels::ResizePass>
pass_of(Shape& shape, size_t column, const AxisTaps* columns, const AxisTaps* rows) {
  kernels::ResizePass pass;
  const int64_t inner = strides_of(shape)[column];
  pass.in_row = shape[column] * inner;
  const bool gathers = inner < kShortRun;
  pass.run = gathers ? 1 : inner;
  if (columns != nullptr) {
    pass.columns = OCTET_TRY(taps_of(*columns, gathers ? inner : 1));
    shape[column] = std::ssize(*columns);
  }
  pass.out_row = shape[column] * inner;
  for (size_t i = 0; i < column; ++i)
    pass.outer *= shape[i];
  if (rows == nullptr) return pass;
  pass.in_rows = shape[column - 1];
  pass.outer = 1;
  for (size_t i = 0; i + 1 < column; ++i)
    pass.outer *= shape[i];
  pass.rows = OCTET_TRY(taps_of(*rows, 1));
  pass.out_rows = shape[column - 1] = std::ssize(*rows);
  return pass;
}

/// The axes from the last to the first, neighbours two at a time.
Result<std::vector<kernels::ResizePass>>
passes_of(const ResizeAttrs& a, const std::vector<ResizeAxis>& sizes, Shape shape) {
  std::vector<std::pair<size_t, AxisTaps>> todo;
  for (size_t i = a.axes.size(); i-- > 0;) {
    const auto axis = static_cast<size_t>(a.axes[i]);
    AxisTaps taps = resize_taps(a.mode, sizes[axis]);
    if (changes(taps, shape[axis])) todo.emplace_back(axis, std::move(taps));
  }
  std::vector<kernels::ResizePass> out;
  for (size_t i = 0; i < todo.size(); ++i) {
    const auto& [axis, taps] = todo[i];
    const bool pair = i + 1 < todo.size() && todo[i + 1].first + 1 == axis;
    const bool dense = strides_of(shape)[axis] >= kShortRun;
    if (pair) {
      out.push_back(OCTET_TRY(pass_of(shape, axis, &taps, &todo[i + 1].second)));
      ++i;
    } else if (dense) { // the axis as rows: what lies behind it is one column
      Shape flat(shape.begin(), shape.begin() + static_cast<int64_t>(axis) + 1);
      flat.push_back(strides_of(shape)[axis]);
      out.push_back(OCTET_TRY(pass_of(flat, axis + 1, nullptr, &taps)));
      shape[axis] = std::ssize(taps);
    } else {
      out.push_back(OCTET_TRY(pass_of(shape, axis, &taps, nullptr)));
    }
  }
  return out;
}

/// Passes write to the two halves of what the step shares by turns, the last one to y. There is one
/// or more.
Result<std::unique_ptr<Step>>
bind_passes(std::vector<kernels::ResizePass> passes, Isa isa, const Operand& x, const Operand& y) {
  int64_t most = 0;
  for (size_t i = 0; i + 1 < passes.size(); ++i)
    most = std::max(most, passes[i].outer * passes[i].out_rows * passes[i].out_row);
  const int64_t half = kernels::round_up(most, 16);
  const auto halves = static_cast<int64_t>(passes.size() > 2 ? 2 : 1);
  const auto shared_bytes = static_cast<size_t>(half * halves) * sizeof(float);
  return call_step(shared_bytes, [passes = std::move(passes), isa, half, x = x.id,
                                  y = y.id](Slots slots, std::byte* shared, ParallelFor& parallel) {
    const void* from = at<const void>(slots, x);
    for (size_t i = 0; i < passes.size(); ++i) {
      void* to = i + 1 == passes.size() ? at<void>(slots, y)
                                        : static_cast<float*>(static_cast<void*>(shared)) +
                                              static_cast<int64_t>(i % 2) * half;
      kernels::resize(passes[i], from, to, isa, parallel);
      from = to;
    }
  });
}

/// The one pass where no axis changes.
kernels::ResizePass same_sizes(const Shape& shape) {
  kernels::ResizePass pass;
  pass.in_row = pass.out_row = shape.empty() ? 1 : shape.back();
  for (size_t i = 0; i + 1 < shape.size(); ++i)
    pass.outer *= shape[i];
  return pass;
}

/// How x and y are stored: floats but for QResize.
Result<native::QResizeGrids> grids_of(const PrepareContext& c) {
  if (c.node.op_type != "QResize") return native::QResizeGrids{};
  return native::parse_qresize(c.node, c.type(0).type);
}

} // namespace

Choice prepare_resize(const PrepareContext& c) {
  if (const auto why = refuse_copy(c)) return Choice::refuse(*why);
  if (!c.known(2)) return Choice::refuse("resize: the sizes depend on data");
  if (c.node.input(1).valid() && !c.constant(1))
    return Choice::refuse("resize: the scales are no constant");
  const bool nearest = c.node.attr_string("mode", "nearest") == "nearest";
  const auto grids = grids_of(c);
  if (!grids.ok()) return Choice::refuse(grids.error().message());
  auto bind = [node = c.node, isa = c.isa, nearest, from_format = format_of(grids->x),
               to_format = format_of(grids->y)](
                  std::span<const Operand> in,
                  std::span<const Operand> out) -> Result<std::unique_ptr<Step>> {
    const ResizeAttrs a = OCTET_TRY(parse_resize(node, kVersion, std::ssize(in[0].shape)));
    const auto sizes = OCTET_TRY(axes_of(a, in));
    if (nearest) return bind_nearest(a, sizes, in, out);
    auto passes = OCTET_TRY(passes_of(a, sizes, in[0].shape));
    if (passes.empty() && (from_format.coded() || to_format.coded()))
      passes.push_back(same_sizes(in[0].shape));
    if (!passes.empty()) {
      passes.front().x = from_format;
      passes.back().y = to_format;
      return bind_passes(std::move(passes), isa, in[0], out[0]);
    }
    const Shape strides = strides_of(in[0].shape);
    std::vector<std::vector<int64_t>> from;
    for (size_t i = 0; i < strides.size(); ++i)
      from.push_back(along(in[0].shape[i], strides[i]));
    return move_step(in[0], out[0], std::move(from));
  };
  return {
      bind_with(std::move(bind)), nearest ? "move" : fmt::format("resize {}", isa_name(c.isa)), {}};
}

} // namespace octet::runtime
