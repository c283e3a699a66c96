// SPDX-License-Identifier: Apache-2.0
// octet.native Positions (1). offsets: i64 [sequences + 1], x: [rows, ..] of any type, whose first
// size alone counts. y: i64 [rows], where each row stands in its sequence: 0, 1, ... Rows
// [offsets[i], offsets[i + 1]) are those of sequence i.
#include "ops/native/epilogue.h"
#include "ops/native/segments.h"
#include "ops/shared/validate.h"

namespace octet::native::op_Positions {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 2, 2));
  OCTET_TRY(check_offsets_input(c, 0));
  OCTET_TRY(check_present(c, 1));
  OCTET_TRY(check_rank(c, 1, 1, 16));
  const TypeInfo& x = c.input(1).type;
  return one(DType::kInt64, std::vector<Dim>{x.has_rank() ? x.shape->front() : Dim::unknown()});
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  Tensor y = OCTET_TRY(zeros_as_inferred(infer, c));
  const std::vector<int64_t> offsets = OCTET_TRY(read_offsets(c.inputs[0], y.count()));
  const auto out = y.mutable_data<int64_t>();
  for (size_t i = 1; i < offsets.size(); ++i)
    for (int64_t row = offsets[i - 1]; row < offsets[i]; ++row)
      out[static_cast<size_t>(row)] = row - offsets[i - 1];
  return one(std::move(y));
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = is_lowered,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::native::op_Positions
