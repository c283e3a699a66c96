// SPDX-License-Identifier: Apache-2.0
// NonMaxSuppression (opset 10). boxes: [N, B, 4] as two opposite corners (y, x, y, x) or as center
// and size (x, y, width, height); scores: [N, C, B]. For each image and class, boxes in order of
// falling score, without those below the score threshold and those that overlap a chosen one by
// more than the IoU threshold. y: [chosen, 3] as (image, class, box).
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/format.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_NonMaxSuppression {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 2, 5));
  OCTET_TRY(check_input(ctx, 0, kFloatTypes));
  OCTET_TRY(check_input(ctx, 1, kFloatTypes));
  OCTET_TRY(check_optional(ctx, 2, kInt64Type));
  for (size_t i = 2; i < 5; ++i) {
    if (i > 2) OCTET_TRY(check_optional(ctx, i, kFloatTypes));
    OCTET_TRY(check_scalar(ctx, i));
  }
  OCTET_TRY(check_rank(ctx, 0, 3, 3));
  OCTET_TRY(check_rank(ctx, 1, 3, 3));
  const TypeInfo& boxes = ctx.input(0).type;
  const TypeInfo& scores = ctx.input(1).type;
  if (boxes.has_rank()) OCTET_TRY(merge_dims((*boxes.shape)[2], 4, "numbers of a box"));
  if (boxes.has_rank() && scores.has_rank()) {
    OCTET_TRY(merge_dims((*boxes.shape)[0], (*scores.shape)[0], "images of boxes and scores"));
    OCTET_TRY(merge_dims((*boxes.shape)[1], (*scores.shape)[2], "boxes and scores"));
  }
  return one(DType::kInt64, std::vector<Dim>{Dim::unknown(), 3});
}

struct Box {
  double top, left, bottom, right;
  double area() const { return (bottom - top) * (right - left); }
};

Box read_box(const double* v, bool center) {
  if (center) return {v[1] - v[3] / 2, v[0] - v[2] / 2, v[1] + v[3] / 2, v[0] + v[2] / 2};
  return {std::min(v[0], v[2]), std::min(v[1], v[3]), std::max(v[0], v[2]), std::max(v[1], v[3])};
}

double overlap(const Box& a, const Box& b) {
  const Box common{std::max(a.top, b.top), std::max(a.left, b.left), std::min(a.bottom, b.bottom),
                   std::min(a.right, b.right)};
  if (!(common.bottom > common.top && common.right > common.left)) return 0;
  const double joined = a.area() + b.area() - common.area();
  return a.area() > 0 && b.area() > 0 && joined > 0 ? common.area() / joined : 0;
}

/// NaN comes last.
bool above(double a, double b) {
  return a > b || (std::isnan(b) && !std::isnan(a));
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  OCTET_TRY(infer_values(infer, ctx));
  const auto values = OCTET_TRY(ctx.inputs[0].to_doubles());
  const auto scores = OCTET_TRY(ctx.inputs[1].to_doubles());
  const int64_t images = ctx.inputs[1].dim(0), classes = ctx.inputs[1].dim(1),
                count = ctx.inputs[1].dim(2);
  int64_t most = 0;
  if (ctx.has(2)) most = OCTET_TRY(integer_values(ctx.inputs[2]))[0];
  const double threshold = ctx.has(3) ? ctx.inputs[3].at(0) : 0;
  const bool center = ctx.node.attr_int("center_point_box", 0) != 0;
  std::vector<int64_t> chosen;
  for (int64_t n = 0; n < images; ++n)
    for (int64_t c = 0; c < classes; ++c) {
      const double* score = scores.data() + (n * classes + c) * count;
      std::vector<int64_t> order(static_cast<size_t>(count));
      std::iota(order.begin(), order.end(), 0);
      if (ctx.has(4)) {
        const double least = ctx.inputs[4].at(0);
        std::erase_if(order, [&](int64_t i) { return !(score[i] > least); });
      }
      std::stable_sort(order.begin(), order.end(),
                       [&](int64_t a, int64_t b) { return above(score[a], score[b]); });
      std::vector<Box> kept;
      for (const int64_t i : order) {
        if (static_cast<int64_t>(kept.size()) >= most) break;
        const Box box = read_box(values.data() + (n * count + i) * 4, center);
        if (std::any_of(kept.begin(), kept.end(),
                        [&](const Box& k) { return overlap(box, k) > threshold; }))
          continue;
        kept.push_back(box);
        chosen.insert(chosen.end(), {n, c, i});
      }
    }
  const auto rows = static_cast<int64_t>(chosen.size() / 3);
  return one(Tensor::of<int64_t>({rows, 3}, std::span<const int64_t>(chosen)));
}

} // namespace

extern const OpFacets facets = {
    .since = 10,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = no_real_output,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_NonMaxSuppression
