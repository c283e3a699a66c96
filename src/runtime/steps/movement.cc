// SPDX-License-Identifier: Apache-2.0
// Transpose, Slice, Expand, Tile, Concat and Split as strided copies, Gather by rows.
#include "ops/shared/movement.h"

#include <algorithm>

#include "core/format.h"
#include "core/threads.h"
#include "ops/shared/types.h"
#include "runtime/kernels/strided.h"
#include "runtime/steps/call.h"
#include "runtime/steps/copies.h"
#include "runtime/steps/indices.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

using kernels::StridedCopy;

/// A step of one copy for each pair of slots.
struct Move {
  StridedCopy copy;
  int32_t from = -1, to = -1;
};

Result<std::unique_ptr<Step>> moves(std::vector<Move> list) {
  for (Move& m : list)
    m.copy = kernels::simplified(m.copy);
  return call_step([list = std::move(list)](Slots slots, ParallelFor& parallel) {
    for (const Move& m : list)
      kernels::copy_strided(m.copy, at<const void>(slots, m.from), at<void>(slots, m.to), parallel);
  });
}

int64_t axis_of(const Node& node, int64_t rank) {
  const int64_t axis = node.attr_int("axis", 0);
  return axis < 0 ? axis + rank : axis;
}

/// A block of a tensor along an axis, copied densely or from a dense one.
StridedCopy block(const Operand& whole, const Shape& part, bool out_of_whole, int64_t start) {
  StridedCopy copy{.width = width_of(whole.type), .sizes = part};
  const Shape big = strides_of(whole.shape), small = strides_of(part);
  copy.from = out_of_whole ? big : small;
  copy.to = out_of_whole ? small : big;
  (out_of_whole ? copy.from_start : copy.to_start) = start;
  return copy;
}

} // namespace

Choice prepare_transpose(const PrepareContext& c) {
  if (const auto why = refuse_copy(c)) return Choice::refuse(*why);
  std::vector<int64_t> perm = c.node.attr_ints("perm");
  for (int64_t i = c.type(0).rank(); i-- > 0 && !c.node.has_attr("perm");)
    perm.push_back(i);
  auto bind = [perm](std::span<const Operand> in, std::span<const Operand> out) {
    StridedCopy copy{.width = width_of(in[0].type), .sizes = out[0].shape};
    const Shape own = strides_of(in[0].shape);
    for (const int64_t axis : perm)
      copy.from.push_back(own[static_cast<size_t>(axis < 0 ? axis + std::ssize(own) : axis)]);
    copy.to = strides_of(out[0].shape);
    return moves({{copy, in[0].id, out[0].id}});
  };
  return {bind_with(std::move(bind)), "copy", {}};
}

Choice prepare_expand(const PrepareContext& c) {
  if (const auto why = refuse_copy(c)) return Choice::refuse(*why);
  if (!c.known(1)) return Choice::refuse("copy: the shape depends on data");
  auto bind = [](std::span<const Operand> in, std::span<const Operand> out) {
    StridedCopy copy{.width = width_of(in[0].type), .sizes = out[0].shape};
    const Shape own = strides_of(in[0].shape);
    copy.to = strides_of(out[0].shape);
    const size_t extra = out[0].shape.size() - own.size();
    copy.from.assign(out[0].shape.size(), 0);
    for (size_t i = 0; i < own.size(); ++i)
      if (in[0].shape[i] != 1) copy.from[extra + i] = own[i];
    return moves({{copy, in[0].id, out[0].id}});
  };
  return {bind_with(std::move(bind)), "copy", {}};
}

Choice prepare_tile(const PrepareContext& c) {
  if (const auto why = refuse_copy(c)) return Choice::refuse(*why);
  if (!c.known(1)) return Choice::refuse("copy: the repeats depend on data");
  auto bind = [](std::span<const Operand> in, std::span<const Operand> out) {
    const Shape own = strides_of(in[0].shape);
    StridedCopy copy{.width = width_of(in[0].type)};
    for (size_t i = 0; i < own.size(); ++i) {
      const int64_t size = in[0].shape[i];
      copy.sizes.insert(copy.sizes.end(), {size == 0 ? 0 : out[0].shape[i] / size, size});
      copy.from.insert(copy.from.end(), {0, own[i]});
    }
    copy.to = strides_of(copy.sizes);
    if (kernels::repeats(kernels::simplified(copy))) return moves({{copy, in[0].id, out[0].id}});
    std::vector<std::vector<int64_t>> from; // short runs and rows
    for (size_t i = 0; i < copy.sizes.size(); ++i)
      from.push_back(along(copy.sizes[i], copy.from[i]));
    return move_step(in[0], out[0], std::move(from));
  };
  return {bind_with(std::move(bind)), "copy", {}};
}

Choice prepare_concat(const PrepareContext& c) {
  if (const auto why = refuse_copy(c)) return Choice::refuse(*why);
  auto bind = [node = c.node](std::span<const Operand> in, std::span<const Operand> out) {
    const auto axis = static_cast<size_t>(axis_of(node, std::ssize(out[0].shape)));
    const int64_t stride = strides_of(out[0].shape)[axis];
    std::vector<Move> list;
    int64_t at = 0;
    for (const Operand& part : in) {
      list.push_back({block(out[0], part.shape, false, at * stride), part.id, out[0].id});
      at += part.shape[axis];
    }
    return moves(std::move(list));
  };
  return {bind_with(std::move(bind)), "copy", {}};
}

Choice prepare_split(const PrepareContext& c) {
  if (const auto why = refuse_copy(c)) return Choice::refuse(*why);
  auto bind = [node = c.node](std::span<const Operand> in, std::span<const Operand> out) {
    const auto axis = static_cast<size_t>(axis_of(node, std::ssize(in[0].shape)));
    const int64_t stride = strides_of(in[0].shape)[axis];
    std::vector<Move> list;
    int64_t at = 0;
    for (const Operand& part : out) {
      if (part.present())
        list.push_back({block(in[0], part.shape, true, at * stride), in[0].id, part.id});
      at += part.shape.empty() ? 0 : part.shape[axis];
    }
    return moves(std::move(list));
  };
  for (const ValueId id : c.node.outputs)
    if (!id.valid()) return Choice::refuse("copy: a part is not used");
  return {bind_with(std::move(bind)), "copy", {}};
}

Choice prepare_slice(const PrepareContext& c) {
  if (const auto why = refuse_copy(c)) return Choice::refuse(*why);
  // Starts, ends, axes and steps by input; before operator set 10 the first three are attributes.
  std::vector<std::vector<int64_t>> attributes(5);
  if (c.graph.opset("") < 10) {
    attributes[1] = c.node.attr_ints("starts");
    attributes[3] = c.node.attr_ints("axes");
  }
  for (size_t i = 1; i < c.node.inputs.size(); ++i)
    if (!c.known(i)) return Choice::refuse("copy: the bounds depend on data");
  auto bind = [attributes](std::span<const Operand> in,
                           std::span<const Operand> out) -> Result<std::unique_ptr<Step>> {
    std::vector<std::vector<int64_t>> lists = attributes;
    for (size_t i = 1; i < in.size(); ++i) {
      if (!in[i].present()) continue;
      if (!in[i].known)
        return error(ErrorCode::kUnsupported,
                     "the bounds of a slice depend on data; run it with the reference executor");
      lists[i] = OCTET_TRY(in[i].known->to_ints());
    }
    const auto &starts = lists[1], &axes = lists[3], &steps = lists[4];
    const Shape own = strides_of(in[0].shape);
    StridedCopy copy{.width = width_of(in[0].type), .sizes = out[0].shape, .from = own};
    copy.to = strides_of(out[0].shape);
    for (size_t i = 0; i < starts.size(); ++i) {
      int64_t axis = axes.empty() ? static_cast<int64_t>(i) : axes[i];
      if (axis < 0) axis += std::ssize(own);
      const auto a = static_cast<size_t>(axis);
      const int64_t step = steps.empty() ? 1 : steps[i], size = in[0].shape[a];
      const int64_t start = starts[i] < 0 ? starts[i] + size : starts[i];
      const int64_t last = step > 0 ? size : size - 1; // -1 where there is none
      copy.from_start += std::max<int64_t>(std::min(start, last), 0) * own[a];
      copy.from[a] *= step;
    }
    return moves({{copy, in[0].id, out[0].id}});
  };
  return {bind_with(std::move(bind)), "copy", {}};
}

namespace {

class GatherStep final : public Step {
 public:
  GatherStep(const kernels::GatherArgs& args, int32_t x, int32_t index, int32_t y)
      : args_(args), x_(x), index_(index), y_(y) {}
  Result<StepEnd> run(Slots slots, std::byte*, ParallelFor& parallel) const override {
    kernels::GatherArgs args = args_;
    args.x = at<const void>(slots, x_);
    args.index = at<const void>(slots, index_);
    args.y = at<void>(slots, y_);
    if (kernels::gather_rows(args, parallel)) return StepEnd::kDone;
    return out_of_range({args.index, args.wide}, args.count, std::span(&args.size, 1));
  }

 private:
  kernels::GatherArgs args_;
  int32_t x_, index_, y_;
};

} // namespace

namespace {

/// Whether rows are bytes to the kernel: short ones it reads as elements.
bool copies_rows(const PrepareContext& c) {
  const TypeInfo& table = c.type(0);
  const auto shape = table.static_shape();
  if (!shape || shape->empty()) return false;
  const auto axis = static_cast<size_t>(axis_of(c.node, std::ssize(*shape)));
  return strides_of(*shape)[axis] * width_of(table.type) > 8;
}

} // namespace

Choice prepare_gather(const PrepareContext& c) {
  if (const auto why = refuse_copy(c)) return Choice::refuse(*why);
  const DType index = c.type(1).type;
  if (index != DType::kInt64 && index != DType::kInt32)
    return Choice::refuse("gather: indices are neither i64 nor i32");
  auto bind = [node = c.node, index](std::span<const Operand> in, std::span<const Operand> out) {
    const auto axis = static_cast<size_t>(axis_of(node, std::ssize(in[0].shape)));
    kernels::GatherArgs args;
    args.size = in[0].shape[axis];
    for (size_t i = 0; i < axis; ++i)
      args.outer *= in[0].shape[i];
    args.row_bytes = strides_of(in[0].shape)[axis] * width_of(in[0].type);
    args.count = in[1].count();
    args.wide = index == DType::kInt64;
    return Result<std::unique_ptr<Step>>(
        std::make_unique<GatherStep>(args, in[0].id, in[1].id, out[0].id));
  };
  Choice choice{.prepared = bind_with(std::move(bind)), .name = "gather"};
  if (copies_rows(c)) choice.any_address = {0};
  return choice;
}

} // namespace octet::runtime
