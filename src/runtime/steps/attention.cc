// SPDX-License-Identifier: Apache-2.0
// octet.native Attention and QAttention: where each head of each operand lies.
#include "runtime/kernels/attention.h"

#include <algorithm>

#include "core/format.h"
#include "core/threads.h"
#include "ops/native/attention.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/movement.h"
#include "runtime/steps/call.h"
#include "runtime/steps/codes.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

/// A tensor with its axes in the order that is computed with.
struct View {
  Shape shape;
  Shape strides; ///< elements
};

View view_of(const Shape& shape, std::span<const int64_t> perm) {
  const Shape own = strides_of(shape);
  View out;
  for (const int64_t axis : perm) {
    out.shape.push_back(shape[static_cast<size_t>(axis)]);
    out.strides.push_back(own[static_cast<size_t>(axis)]);
  }
  return out;
}

/// What the result is before its axes are put in the order that it is written in.
View written_view(const Shape& shape, std::span<const int64_t> perm) {
  const Shape own = strides_of(shape);
  View out{Shape(shape.size()), Shape(shape.size())};
  for (size_t i = 0; i < perm.size(); ++i) {
    out.shape[static_cast<size_t>(perm[i])] = shape[i];
    out.strides[static_cast<size_t>(perm[i])] = own[i];
  }
  return out;
}

/// Stride along an axis, counted from the last one; 0 where the axis repeats or is not there.
int64_t stride(const View& view, size_t back) {
  if (back >= view.shape.size()) return 0;
  const size_t axis = view.shape.size() - 1 - back;
  return view.shape[axis] == 1 ? 0 : view.strides[axis];
}

/// Of each item of the batch, whose sizes are the leading ones of `batch`.
std::vector<int64_t> item_offsets(const View& view, const Shape& batch) {
  Shape strides(batch.size());
  for (size_t i = 0; i < batch.size(); ++i)
    strides[i] = stride(view, batch.size() - 1 - i + 2);
  return strided_index(batch, strides);
}

struct Operands {
  std::vector<std::vector<int64_t>> offsets;
  std::vector<int64_t> y_offsets;
  std::vector<int32_t> ids;
  numerics::Program program;
};

Result<std::unique_ptr<Step>> bind(kernels::AttentionArgs args,
                                   const std::vector<std::vector<int64_t>>& perms,
                                   const std::optional<numerics::Program>& program,
                                   std::span<const Operand> in,
                                   std::span<const Operand> out) {
  auto kept = std::make_shared<Operands>();
  std::vector<View> views;
  for (size_t i = 0; i < in.size(); ++i) {
    if (i < perms.size() - 1)
      views.push_back(view_of(in[i].shape, perms[i]));
    else
      views.push_back({in[i].shape, strides_of(in[i].shape)});
    kept->ids.push_back(in[i].id);
  }
  const View y = written_view(out[0].shape, perms.back());
  const Shape batch(y.shape.begin(), y.shape.end() - 2);
  kept->y_offsets = item_offsets(y, batch);
  for (const View& view : views)
    kept->offsets.push_back(item_offsets(view, batch));
  const auto operand = [&](size_t i) {
    return kernels::AttentionOperand{nullptr, kept->offsets[i].data(), stride(views[i], 1),
                                     stride(views[i], 0)};
  };
  args.items = static_cast<int64_t>(kept->y_offsets.size());
  args.queries = *(y.shape.end() - 2);
  args.width = y.shape.back();
  args.depth = views[0].shape.back();
  args.keys = *(views[2].shape.end() - 2);
  if ((args.scores_on_codes && args.depth > kernels::kMaxAttentionSum) ||
      (args.context_on_codes && args.keys > kernels::kMaxAttentionSum))
    return error(ErrorCode::kUnsupported,
                 "attention sums over {} and {} products of codes, the limit is {}; keep it in "
                 "float",
                 args.depth, args.keys, kernels::kMaxAttentionSum);
  args.q = operand(0);
  args.k = operand(1);
  args.v = operand(2);
  for (size_t i = native::kAttentionOperands; i < in.size(); ++i)
    args.inputs[i - native::kAttentionOperands] = operand(i);
  args.y_offsets = kept->y_offsets.data();
  args.y_stride = *(y.strides.end() - 2);
  if (program) {
    kept->program = *program;
    args.program = &kept->program;
  }
  const auto run = [args, kept, y = out[0].id](Slots slots, std::byte* shared,
                                               ParallelFor& parallel) {
    kernels::AttentionArgs now = args;
    const auto data = [&](size_t i) { return at<const void>(slots, kept->ids[i]); };
    now.q.data = data(0);
    now.k.data = data(1);
    now.v.data = data(2);
    for (size_t i = native::kAttentionOperands; i < kept->ids.size(); ++i)
      now.inputs[i - native::kAttentionOperands].data = data(i);
    now.y = at<void>(slots, y);
    now.shared = shared;
    kernels::attention(now, parallel);
  };
  return call_step(kernels::shared_bytes(args), run);
}

bool below_zero(DType type) {
  return type == DType::kInt8;
}

} // namespace

Choice prepare_attention(const PrepareContext& c) {
  const Node& node = c.node;
  const auto zero = [&](std::string_view key) {
    return static_cast<int32_t>(node.attr_int(key, 0));
  };
  std::vector<std::vector<int64_t>> perms;
  for (size_t i = 0; i <= native::kAttentionOperands; ++i) {
    const TypeInfo& type =
        i < native::kAttentionOperands ? c.type(i) : c.graph.value(node.output(0)).type;
    if (!type.has_rank()) return Choice::refuse("attention: a rank is not known");
    auto perm = native::attention_perm(node, i, type.rank());
    if (!perm.ok()) return Choice::refuse(perm.error().text());
    if (i != 1 && perm->back() != type.rank() - 1)
      return Choice::refuse("attention: rows of an operand or the result do not lie on end");
    perms.push_back(std::move(*perm));
  }
  auto program = native::attention_program(node, node.inputs.size());
  if (!program.ok()) return Choice::refuse(program.error().text());
  kernels::AttentionArgs args;
  args.isa = c.isa;
  args.scores_on_codes = c.type(0).type != DType::kFloat32;
  args.scores = {below_zero(c.type(0).type), zero("q_zero_point"), below_zero(c.type(1).type),
                 zero("k_zero_point"), node.attr_float("scores_multiplier", 1.0F)};
  args.context_on_codes = c.type(2).type != DType::kFloat32;
  args.p = {node.attr_float("p_scale", 1.0F), zero("p_zero_point"),
            node.attr_int("p_to", static_cast<int64_t>(DType::kInt8)) ==
                static_cast<int64_t>(DType::kInt8)};
  args.context = {args.p.is_signed, args.p.zero_point, below_zero(c.type(2).type),
                  zero("v_zero_point"), node.attr_float("multiplier", 1.0F)};
  args.epilogue = epilogue_of(c);
  auto bound = [args, perms = std::move(perms), program = std::move(*program)](
                   std::span<const Operand> in, std::span<const Operand> out) {
    return bind(args, perms, program, in, out);
  };
  return {bind_with(std::move(bound)), fmt::format("attention {}", isa_name(c.isa)), {}};
}

} // namespace octet::runtime
