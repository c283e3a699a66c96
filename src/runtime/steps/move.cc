// SPDX-License-Identifier: Apache-2.0
// Pad, DepthToSpace and SpaceToDepth: which element of x stands where is known once shapes
// are. Elements of whole bytes.
#include "runtime/kernels/move.h"

#include <array>
#include <cstring>

#include "core/format.h"
#include "core/threads.h"
#include "ops/shared/depth_strides.h"
#include "ops/shared/movement.h"
#include "ops/shared/padding.h"
#include "runtime/steps/call.h"
#include "runtime/steps/copies.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

/// [N, C, H, W] by strides of an image that is split into blocks.
Choice blocks(const PrepareContext& c, bool to_space) {
  if (const auto why = refuse_copy(c)) return Choice::refuse(*why);
  const int64_t b = c.node.attr_int("blocksize", 0);
  auto bind = [node = c.node, b, to_space](std::span<const Operand> in,
                                           std::span<const Operand> out) {
    const Shape& x = in[0].shape;
    const Shape& y = out[0].shape;
    const Shape s = strides_of(x);
    if (!to_space) // y: [N, row, column, C, H, W]
      return move_step(in[0], out[0],
                       {along(x[0], s[0]), along(b, s[2]), along(b, s[3]), along(x[1], s[1]),
                        along(y[2], s[2] * b), along(y[3], s[3] * b)});
    const DepthStrides within = depth_strides(node, b, b, y[1]);
    // y: [N, C, H, row, W, column]
    return move_step(in[0], out[0],
                     {along(x[0], s[0]), along(y[1], s[1] * within.channel), along(x[2], s[2]),
                      along(b, s[1] * within.row), along(x[3], s[3]),
                      along(b, s[1] * within.column)});
  };
  return {bind_with(std::move(bind)), "move", {}};
}

} // namespace

Choice prepare_depth_to_space(const PrepareContext& c) {
  return blocks(c, true);
}

Choice prepare_native_depth_to_space(const PrepareContext& c) {
  if (const auto why = refuse_copy(c)) return Choice::refuse(*why);
  auto bind = [node = c.node](std::span<const Operand> in, std::span<const Operand> out) {
    const auto blocks = node.attr_ints("blocks");
    const Shape& x = in[0].shape;
    const Shape s = strides_of(x);
    const int64_t channels = out[0].shape[3];
    const DepthStrides within = depth_strides(node, blocks[0], blocks[1], channels);
    // y: [N, H, row, W, column, C]
    return move_step(in[0], out[0],
                     {along(x[0], s[0]), along(x[1], s[1]), along(blocks[0], within.row),
                      along(x[2], s[2]), along(blocks[1], within.column),
                      along(channels, within.channel)});
  };
  return {bind_with(std::move(bind)), "move", {}};
}

Choice prepare_space_to_depth(const PrepareContext& c) {
  return blocks(c, false);
}

Choice prepare_pad(const PrepareContext& c) {
  if (const auto why = refuse_copy(c)) return Choice::refuse(*why);
  const int64_t version = c.graph.opset("");
  for (const size_t i : {size_t{1}, size_t{3}})
    if (!c.known(i)) return Choice::refuse("move: the amounts depend on data");
  if (c.node.input(2).valid() && c.type(2).type != c.type(0).type)
    return Choice::refuse("move: the fill is of another type");
  auto bind = [node = c.node,
               version](std::span<const Operand> in,
                        std::span<const Operand> out) -> Result<std::unique_ptr<Step>> {
    const auto known = [&](size_t i) { return i < in.size() ? in[i].known : nullptr; };
    const PadMode mode = OCTET_TRY(pad_mode(node));
    const PadAmounts amounts =
        OCTET_TRY(pad_amounts(node, version, known(1), known(3), std::ssize(in[0].shape)));
    const Shape own = strides_of(in[0].shape);
    std::vector<std::vector<int64_t>> from;
    for (size_t i = 0; i < own.size(); ++i) {
      std::vector<int64_t>& axis = from.emplace_back();
      for (int64_t k = 0; k < out[0].shape[i]; ++k) {
        const int64_t there = pad_source(k - amounts.before[i].value(), in[0].shape[i], mode);
        axis.push_back(there < 0 ? kernels::kFill : there * own[i]);
      }
    }
    const bool given = version >= 11 && in.size() > 2 && in[2].present();
    std::array<std::byte, 16> fill{};
    if (!given) {
      const Tensor value = OCTET_TRY(pad_fill(node, version, in[0].type, nullptr));
      std::memcpy(fill.data(), value.bytes().data(), value.bytes().size());
    }
    return call_step([plan = kernels::plan_move(width_of(in[0].type), std::move(from)), fill,
                      value = given ? in[2].id : -1, x = in[0].id,
                      y = out[0].id](Slots slots, ParallelFor& parallel) {
      const void* with = value < 0 ? fill.data() : at<const void>(slots, value);
      kernels::move(plan, at<const void>(slots, x), with, at<void>(slots, y), parallel);
    });
  };
  return {bind_with(std::move(bind)), "move", {}};
}

} // namespace octet::runtime
