// SPDX-License-Identifier: Apache-2.0
// octet.native SegmentSum (1). x: f32 [rows, ..], offsets: i64 [sequences + 1]. y: f32 [sequences,
// ..], the sum of rows [offsets[i], offsets[i + 1]), each element in double, in their order, rounded
// once.
#include "core/format.h"
#include "ops/native/epilogue.h"
#include "ops/native/segments.h"
#include "ops/shared/validate.h"

namespace octet::native::op_SegmentSum {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 2, 2));
  OCTET_TRY(check_input(c, 0, kF32));
  OCTET_TRY(check_rank(c, 0, 1, 16));
  OCTET_TRY(check_offsets_input(c, 1));
  const TypeInfo &x = c.input(0).type, &offsets = c.input(1).type;
  if (!x.has_rank()) return one(DType::kFloat32, std::nullopt);
  std::vector<Dim> shape = *x.shape;
  shape[0] = offsets.has_rank() ? offsets.shape->front() - Dim(1) : Dim::unknown();
  if (shape[0].is_constant() && shape[0].value() < 0)
    return error("offsets are empty; give 0, and where each sequence ends");
  return one(DType::kFloat32, std::move(shape));
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  Tensor y = OCTET_TRY(zeros_as_inferred(infer, c));
  const Tensor& x = c.inputs[0];
  const std::vector<int64_t> offsets = OCTET_TRY(read_offsets(c.inputs[1], x.dim(0)));
  const std::vector<float> values = OCTET_TRY(x.to_floats());
  const auto width = static_cast<size_t>(product(x.shape(), 1, x.shape().size()));
  const auto out = y.mutable_data<float>();
  for (size_t i = 1; i < offsets.size(); ++i)
    for (size_t k = 0; k < width; ++k) {
      double sum = 0;
      for (int64_t row = offsets[i - 1]; row < offsets[i]; ++row)
        sum += static_cast<double>(values[static_cast<size_t>(row) * width + k]);
      out[(i - 1) * width + k] = static_cast<float>(sum);
    }
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

} // namespace octet::native::op_SegmentSum
