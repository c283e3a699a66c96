// SPDX-License-Identifier: Apache-2.0
// octet.native Attention and QAttention: where each head of each operand lies, of all rows or of
// segments of them.
#include "runtime/kernels/attention.h"

#include <algorithm>

#include "core/format.h"
#include "core/threads.h"
#include "ops/native/attention.h"
#include "ops/native/segments.h"
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

Status check_sums(const kernels::AttentionArgs& args, int64_t keys) {
  if ((args.scores_on_codes && args.depth > kernels::kMaxAttentionSum) ||
      (args.context_on_codes && keys > kernels::kMaxAttentionSum))
    return error(ErrorCode::kUnsupported,
                 "attention sums over {} and {} products of codes, the limit is {}; keep it in "
                 "float",
                 args.depth, keys, kernels::kMaxAttentionSum);
  return ok_status();
}

/// What `args` of one run look at.
struct Bound {
  kernels::AttentionArgs args;
  std::shared_ptr<const Operands> kept;
  int32_t y = -1;

  kernels::AttentionArgs now(Slots slots) const {
    kernels::AttentionArgs out = args;
    const auto data = [&](size_t i) { return at<const void>(slots, kept->ids[i]); };
    out.q.data = data(0);
    out.k.data = data(1);
    out.v.data = data(2);
    for (size_t i = native::kAttentionOperands; i < kept->ids.size(); ++i)
      out.inputs[i - native::kAttentionOperands].data = data(i);
    out.y = at<void>(slots, y);
    return out;
  }
};

/// Rows attend within segments, which the run tells.
class SegmentStep final : public Step {
 public:
  SegmentStep(Bound bound, const Operand& offsets)
      : bound_(std::move(bound)), id_(offsets.id), count_(offsets.count()) {}

  Result<StepEnd> run(Slots slots, std::byte* /*shared*/, ParallelFor& parallel) const override {
    const auto offsets = std::span(at<const int64_t>(slots, id_), static_cast<size_t>(count_));
    OCTET_TRY(native::check_offsets(offsets, bound_.args.keys));
    int64_t longest = 0;
    for (size_t i = 1; i < offsets.size(); ++i)
      longest = std::max(longest, offsets[i] - offsets[i - 1]);
    OCTET_TRY(check_sums(bound_.args, longest));
    kernels::segment_attention(bound_.now(slots), offsets, parallel);
    return StepEnd::kDone;
  }

 private:
  Bound bound_;
  int32_t id_;
  int64_t count_;
};

/// `in`: without the offsets of segments.
Result<Bound> bind_rows(kernels::AttentionArgs args,
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
  return Bound{args, std::move(kept), out[0].id};
}

Result<std::unique_ptr<Step>> bind(const kernels::AttentionArgs& args,
                                   const std::vector<std::vector<int64_t>>& perms,
                                   const std::optional<numerics::Program>& program,
                                   std::span<const Operand> in,
                                   std::span<const Operand> out) {
  Bound bound = OCTET_TRY(bind_rows(args, perms, program, in, out));
  OCTET_TRY(check_sums(bound.args, bound.args.keys));
  const size_t shared_bytes = kernels::shared_bytes(bound.args);
  const auto run = [bound = std::move(bound)](Slots slots, std::byte* shared,
                                              ParallelFor& parallel) {
    kernels::AttentionArgs now = bound.now(slots);
    now.shared = shared;
    kernels::attention(now, parallel);
  };
  return call_step(shared_bytes, run);
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
  const bool in_segments = native::attends_in_segments(node);
  auto bound = [args, perms = std::move(perms), program = std::move(*program),
                in_segments](std::span<const Operand> in,
                             std::span<const Operand> out) -> Result<std::unique_ptr<Step>> {
    if (!in_segments) return bind(args, perms, program, in, out);
    Bound rows = OCTET_TRY(bind_rows(args, perms, program, in.first(in.size() - 1), out));
    return std::unique_ptr<Step>(std::make_unique<SegmentStep>(std::move(rows), in.back()));
  };
  return {bind_with(std::move(bound)), fmt::format("attention {}", isa_name(c.isa)), {}};
}

} // namespace octet::runtime
