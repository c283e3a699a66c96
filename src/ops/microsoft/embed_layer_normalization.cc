// SPDX-License-Identifier: Apache-2.0
// EmbedLayerNormalization (com.microsoft 1). input_ids: [B, S], segment_ids? (as ids),
// word: [V, D], position: [P, D], segment? [G, D], gamma, beta: [D], mask? [B, S], position_ids?
// [B, S] or [1, S]. The sum of the rows that the ids name (positions 0, 1, ... without ids),
// normalized over D. Outputs y: [B, S, D], mask_index: [B] (ones in each row of the mask, 0 without
// one) and the sum.
#include <cmath>

#include "core/format.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/normalization.h"

namespace octet::ms::op_EmbedLayerNormalization {
namespace {

enum Input : size_t {
  kIds,
  kSegments,
  kWord,
  kPosition,
  kSegment,
  kGamma,
  kBeta,
  kMask,
  kPositions
};

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 7, 9));
  for (const size_t i : {kIds, kWord, kPosition, kGamma, kBeta})
    OCTET_TRY(check_present(ctx, i));
  for (const size_t i : {kIds, kSegments, kMask, kPositions}) {
    OCTET_TRY(check_optional(ctx, i, kIndexTypes));
    OCTET_TRY(check_rank(ctx, i, 2, 2));
  }
  for (const size_t i : {kWord, kPosition, kSegment}) {
    OCTET_TRY(check_optional(ctx, i, kFloatTypes));
    OCTET_TRY(check_rank(ctx, i, 2, 2));
  }
  if (ctx.has(kSegments) != ctx.has(kSegment))
    return Error("give segment_ids and segment_embedding, or neither");
  const TypeInfo& ids = ctx.input(kIds).type;
  const TypeInfo& word = ctx.input(kWord).type;
  std::vector<Dim> out = unknown_dims(3);
  if (ids.has_rank()) out = {(*ids.shape)[0], (*ids.shape)[1], Dim::unknown()};
  if (word.has_rank()) out[2] = (*word.shape)[1];
  for (const size_t i : {kPosition, kSegment})
    if (ctx.input(i).type.has_rank())
      out[2] = OCTET_TRY(merge_dims(out[2], (*ctx.input(i).type.shape)[1], "widths of embeddings"));
  for (const size_t i : {kGamma, kBeta}) {
    OCTET_TRY(check_rank(ctx, i, 1, 1));
    OCTET_TRY(check_vector(ctx, i, out[2], "gamma or beta and the width"));
  }
  for (const size_t i : {kSegments, kMask, kPositions}) {
    const TypeInfo& t = ctx.input(i).type;
    if (!t.has_rank()) continue;
    if (i != kPositions || (*t.shape)[0] != Dim(1))
      OCTET_TRY(merge_dims((*t.shape)[0], out[0], fmt::format("rows of input {} and ids", i)));
    OCTET_TRY(merge_dims((*t.shape)[1], out[1], fmt::format("columns of input {} and ids", i)));
  }
  return std::vector<OutputInfo>{one(word.type, out)[0],
                                 one(DType::kInt32, std::vector<Dim>{out[0]})[0],
                                 one(word.type, out)[0]};
}

/// sum += row `id` of a table. Errors: no such row.
Status add_row(const Tensor& table, int64_t id, std::span<double> sum) {
  if (id < 0 || id >= table.dim(0))
    return error("id {} names no row of a table of {}", id, table.dim(0));
  for (size_t k = 0; k < sum.size(); ++k)
    sum[k] += table.at(id * table.dim(1) + static_cast<int64_t>(k));
  return ok_status();
}

Result<std::vector<double>> embedding_sum(const EvalContext& ctx, int64_t width) {
  const auto ids = OCTET_TRY(integer_values(ctx.inputs[kIds]));
  const int64_t columns = ctx.inputs[kIds].dim(1);
  std::vector<int64_t> segments, positions;
  if (ctx.has(kSegments)) segments = OCTET_TRY(integer_values(ctx.inputs[kSegments]));
  if (ctx.has(kPositions)) positions = OCTET_TRY(integer_values(ctx.inputs[kPositions]));
  std::vector<double> sum(ids.size() * static_cast<size_t>(width));
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto row =
        std::span(sum).subspan(i * static_cast<size_t>(width), static_cast<size_t>(width));
    OCTET_TRY(add_row(ctx.inputs[kWord], ids[i], row));
    const int64_t position =
        positions.empty() ? static_cast<int64_t>(i) % columns : positions[i % positions.size()];
    OCTET_TRY(add_row(ctx.inputs[kPosition], position, row));
    if (!segments.empty()) OCTET_TRY(add_row(ctx.inputs[kSegment], segments[i], row));
  }
  return sum;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  auto y = OCTET_TRY(embedding_sum(ctx, shape[2]));
  const DType type = ctx.inputs[kWord].type();
  const Tensor sum = OCTET_TRY(rounded(type, shape, y));
  const auto epsilon = static_cast<double>(ctx.node.attr_float("epsilon", 1e-12F));
  const auto width = static_cast<size_t>(shape[2]);
  for (size_t at = 0; width > 0 && at < y.size(); at += width) {
    const auto line = std::span(y).subspan(at, width);
    const Moments m = moments(line);
    standardize(line, m.mean, 1 / std::sqrt(m.variance + epsilon));
  }
  OCTET_TRY(scale_and_shift(y, shape, ctx.inputs[kGamma], ctx.inputs[kBeta]));
  std::vector<int32_t> ones(static_cast<size_t>(shape[0]));
  if (ctx.has(kMask))
    for (int64_t i = 0; i < ctx.inputs[kMask].count(); ++i)
      ones[static_cast<size_t>(i / shape[1])] += ctx.inputs[kMask].at(i) == 1 ? 1 : 0;
  return std::vector<Tensor>{OCTET_TRY(rounded(type, shape, y)),
                             Tensor::of<int32_t>({shape[0]}, std::span<const int32_t>(ones)), sum};
}

Role roles(const Node&, size_t input) {
  switch (input) {
  case kWord:
  case kPosition:
  case kSegment:
    return Role::kWeight;
  case kGamma:
    return Role::kGain;
  case kBeta:
    return Role::kBias;
  default:
    return Role::kConstant;
  }
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = roles,
    .quant = normalizes,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::ms::op_EmbedLayerNormalization
