// SPDX-License-Identifier: Apache-2.0
// Einsum (opset 12, 28). y[output labels] = sum over the other labels of the product of the
// operands, in NumPy's notation with `...` and with an implicit output. Dimensions of 1 broadcast.
#include "ops/shared/einsum.h"

#include <algorithm>
#include <map>

#include "core/codec.h"
#include "core/convert.h"
#include "core/format.h"
#include "ops/shared/movement.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_Einsum {
namespace {

Result<std::map<int, Dim>> label_sizes(const EinsumEquation& e, const InferContext& c) {
  std::map<int, Dim> sizes;
  for (size_t i = 0; i < e.inputs.size(); ++i)
    for (size_t k = 0; k < e.inputs[i].size(); ++k) {
      const Dim& d = (*c.input(i).type.shape)[k];
      const auto [at, fresh] = sizes.emplace(e.inputs[i][k], d);
      if (fresh || d == Dim(1)) continue;
      at->second =
          at->second == Dim(1) ? d : OCTET_TRY(merge_dims(at->second, d, "sizes of one label"));
    }
  return sizes;
}

Result<EinsumEquation> equation_of(const InferContext& c) {
  std::vector<int64_t> ranks;
  for (const InputInfo& in : c.inputs)
    ranks.push_back(in.type.rank());
  return parse_einsum(c.node.attr_string("equation", ""), ranks);
}

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 1, 64));
  for (size_t i = 0; i < c.inputs.size(); ++i)
    OCTET_TRY(check_input(c, i, kNumericTypes));
  const DType type = OCTET_TRY(common_type(c, 0, c.inputs.size() - 1));
  for (const InputInfo& in : c.inputs)
    if (!in.type.has_rank()) return one(type, std::nullopt);
  const EinsumEquation e = OCTET_TRY(equation_of(c));
  const auto sizes = OCTET_TRY(label_sizes(e, c));
  std::vector<Dim> shape;
  for (int label : e.output) {
    const auto found = sizes.find(label);
    if (found == sizes.end() || std::count(e.output.begin(), e.output.end(), label) > 1)
      return error("equation: an output label occurs twice or in no term");
    shape.push_back(found->second);
  }
  return one(type, std::move(shape));
}

/// Offsets in an operand for every combination of `labels`, the last one fastest.
std::vector<int64_t> offsets(const Tensor& x,
                             const EinsumLabels& own,
                             const EinsumLabels& labels,
                             const std::map<int, int64_t>& sizes) {
  const Shape steps = strides_of(x.shape());
  Shape shape, strides;
  for (int label : labels) {
    int64_t stride = 0;
    for (size_t k = 0; k < own.size(); ++k)
      if (own[k] == label && x.shape()[k] != 1) stride += steps[k];
    shape.push_back(sizes.at(label));
    strides.push_back(stride);
  }
  return strided_index(shape, strides);
}

template <class T>
std::vector<T> contract(const std::vector<std::vector<T>>& x,
                        const std::vector<std::vector<int64_t>>& outer,
                        const std::vector<std::vector<int64_t>>& inner) {
  std::vector<T> y(outer[0].size());
  for (size_t o = 0; o < y.size(); ++o)
    for (size_t r = 0; r < inner[0].size(); ++r) {
      T term = 1;
      for (size_t i = 0; i < x.size(); ++i)
        term *= x[i][static_cast<size_t>(outer[i][o] + inner[i][r])];
      y[o] += term;
    }
  return y;
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  const auto outputs = OCTET_TRY(infer_values(infer, c));
  const Shape shape = OCTET_TRY(shape_of(outputs[0]));
  std::vector<int64_t> ranks;
  for (const Tensor& x : c.inputs)
    ranks.push_back(x.rank());
  const EinsumEquation e = OCTET_TRY(parse_einsum(c.node.attr_string("equation", ""), ranks));
  std::map<int, int64_t> sizes;
  EinsumLabels summed;
  for (size_t i = 0; i < e.inputs.size(); ++i)
    for (size_t k = 0; k < e.inputs[i].size(); ++k) {
      const int label = e.inputs[i][k];
      const auto [at, fresh] = sizes.emplace(label, c.inputs[i].dim(static_cast<int64_t>(k)));
      if (!fresh && at->second == 1) at->second = c.inputs[i].dim(static_cast<int64_t>(k));
      if (fresh && std::find(e.output.begin(), e.output.end(), label) == e.output.end())
        summed.push_back(label);
    }
  std::vector<std::vector<int64_t>> outer, inner;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    outer.push_back(offsets(c.inputs[i], e.inputs[i], e.output, sizes));
    inner.push_back(offsets(c.inputs[i], e.inputs[i], summed, sizes));
  }
  const DType type = outputs[0].type.type;
  if (is_float(type)) {
    std::vector<std::vector<double>> x;
    for (const Tensor& t : c.inputs)
      x.push_back(OCTET_TRY(t.to_doubles()));
    return one(OCTET_TRY(rounded(type, shape, contract(x, outer, inner))));
  }
  std::vector<std::vector<uint64_t>> x; // integers wrap
  for (const Tensor& t : c.inputs) {
    const auto v = OCTET_TRY(t.to_ints());
    x.emplace_back(v.begin(), v.end());
  }
  const auto sums = contract(x, outer, inner);
  Tensor y = OCTET_TRY(Tensor::zeros(type, shape));
  OCTET_TRY(write_ints(type, std::vector<int64_t>(sums.begin(), sums.end()), y.mutable_bytes(),
                       Saturate::kNo));
  return one(std::move(y));
}

Role roles(const Node&, size_t) {
  return Role::kWeight;
}

QuantTrait quant(const Node&, std::span<const InputInfo>) {
  return QuantTrait::none("write the product as MatMul to quantize it");
}

} // namespace

extern const OpFacets facets = {
    .since = 12,
    .infer = infer,
    .eval = eval,
    .roles = roles,
    .quant = quant,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.products = true, .unchanged = true},
};

} // namespace octet::onnx::op_Einsum
