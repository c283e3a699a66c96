// SPDX-License-Identifier: Apache-2.0
// octet.native QTable (1). A function between two 8-bit tensors: y = table[code]; the index of an
// i8 code is code + 128. Lowering fills the table with the reference's results.
// docs/native-operators.md.
#include <algorithm>

#include "ops/native/epilogue.h"

namespace octet::native::op_QTable {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 2, 2));
  OCTET_TRY(check_input(c, 0, kCodes));
  OCTET_TRY(check_input(c, 1, kCodes));
  OCTET_TRY(check_vector(c, 1, Dim(256), "entries of the table and codes"));
  return one(c.input(1).type.type, c.input(0).type.shape);
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  Tensor y = OCTET_TRY(zeros_as_inferred(infer, c));
  const auto table = c.inputs[1].bytes();
  const unsigned flip = c.inputs[0].type() == DType::kInt8 ? 128 : 0;
  std::transform(c.inputs[0].bytes().begin(), c.inputs[0].bytes().end(), y.mutable_bytes().begin(),
                 [&](std::byte code) { return table[std::to_integer<unsigned>(code) ^ flip]; });
  return one(std::move(y));
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = is_lowered,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.on_codes = true},
};

} // namespace octet::native::op_QTable
