// SPDX-License-Identifier: Apache-2.0
// octet.native Map (1). Up to six f32 inputs that broadcast; y is what a program of
// core/numerics/program.h makes of each element. Attributes: program (text), constants (floats).
#include "ops/native/map.h"

#include "core/format.h"
#include "core/numerics/program.h"
#include "ops/native/epilogue.h"
#include "ops/shared/movement.h"

namespace octet::native {

Result<numerics::Program> parse_map(const Node& node, size_t inputs) {
  return OCTET_TRY_WITH(numerics::parse_program(node.attr_string("program", ""),
                                                node.attr_floats("constants"), inputs),
                        "program");
}

} // namespace octet::native

namespace octet::native::op_Map {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 1, numerics::kMaxMapInputs));
  OCTET_TRY(parse_map(c.node, c.inputs.size()));
  std::vector<std::vector<Dim>> shapes;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    OCTET_TRY(check_input(c, i, kF32));
    if (c.input(i).type.has_rank()) shapes.push_back(*c.input(i).type.shape);
  }
  if (shapes.size() < c.inputs.size()) return one(DType::kFloat32, std::nullopt);
  return one(DType::kFloat32, OCTET_TRY(broadcast_dims(shapes)));
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  Tensor y = OCTET_TRY(zeros_as_inferred(infer, c));
  const numerics::Program program = OCTET_TRY(parse_map(c.node, c.inputs.size()));
  std::vector<std::vector<float>> x;
  std::vector<std::vector<int64_t>> index;
  for (const Tensor& input : c.inputs) {
    x.push_back(OCTET_TRY(input.to_floats()));
    index.push_back(broadcast_index(input.shape(), y.shape()));
  }
  std::vector<float> element(x.size());
  const auto out = y.mutable_data<float>();
  for (size_t i = 0; i < out.size(); ++i) {
    for (size_t k = 0; k < x.size(); ++k)
      element[k] = x[k][static_cast<size_t>(index[k][i])];
    out[i] = program.eval(element);
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

} // namespace octet::native::op_Map
