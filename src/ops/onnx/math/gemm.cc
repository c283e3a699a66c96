// SPDX-License-Identifier: Apache-2.0
// Gemm (opset 7 to 13). y = alpha * a' @ b' + beta * c with a' = a or its transpose [M, K],
// b' = b or its transpose [K, N]; c broadcasts to [M, N].
#include "core/format.h"
#include "ops/shared/matrix_product.h"
#include "ops/shared/movement.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_Gemm {
namespace {

constexpr TypeSet kTypes =
    kFloatTypes | TypeSet{DType::kInt32, DType::kInt64, DType::kUint32, DType::kUint64};

struct GemmAttrs {
  double alpha, beta;
  bool transpose_a, transpose_b;
};

GemmAttrs parse(const Node& node) {
  return {node.attr_float("alpha", 1), node.attr_float("beta", 1), node.attr_int("transA", 0) != 0,
          node.attr_int("transB", 0) != 0};
}

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 2, 3));
  for (size_t i = 0; i < 3; ++i)
    OCTET_TRY(check_optional(c, i, kTypes));
  if (c.version < 11) OCTET_TRY(check_present(c, 2));
  OCTET_TRY(check_rank(c, 0, 2, 2));
  OCTET_TRY(check_rank(c, 1, 2, 2));
  const DType type = OCTET_TRY(common_type(c, 0, c.inputs.size() - 1));
  if (!c.input(0).type.has_rank() || !c.input(1).type.has_rank()) return one(type, std::nullopt);
  const auto a = parse(c.node);
  const auto &x = *c.input(0).type.shape, &w = *c.input(1).type.shape;
  const Dim rows = x[a.transpose_a ? 1 : 0], columns = w[a.transpose_b ? 0 : 1];
  OCTET_TRY(
      merge_dims(x[a.transpose_a ? 0 : 1], w[a.transpose_b ? 1 : 0], "inner sizes of the product"));
  std::vector<Dim> shape = {rows, columns};
  if (c.has(2) && c.input(2).type.has_rank()) {
    const std::vector<Dim> both[] = {shape, *c.input(2).type.shape};
    const auto common = OCTET_TRY(broadcast_dims(both));
    bool fits = common.size() == 2;
    for (size_t i = 0; fits && i < 2; ++i)
      fits = !common[i].is_constant() || !shape[i].is_constant() || common[i] == shape[i];
    if (!fits)
      return error("input 2 is {} and the product [{}, {}]; make it broadcast to that",
                   c.input(2).type.text(), rows.text(), columns.text());
  }
  return one(type, std::move(shape));
}

template <class T>
std::vector<T> transposed(std::span<const T> x, int64_t rows, int64_t columns) {
  std::vector<T> out(x.size());
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      out[static_cast<size_t>(j * rows + i)] = x[static_cast<size_t>(i * columns + j)];
  return out;
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  const auto outputs = OCTET_TRY(infer_values(infer, c));
  const Shape shape = OCTET_TRY(shape_of(outputs[0]));
  const auto attrs = parse(c.node);
  const Tensor &x = c.inputs[0], &w = c.inputs[1];
  auto a = OCTET_TRY(x.to_doubles());
  auto b = OCTET_TRY(w.to_doubles());
  if (attrs.transpose_a) a = transposed<double>(a, x.dim(0), x.dim(1));
  if (attrs.transpose_b) b = transposed<double>(b, w.dim(0), w.dim(1));
  std::vector<double> y(static_cast<size_t>(OCTET_TRY(element_count(shape))));
  const int64_t k = x.dim(attrs.transpose_a ? 0 : 1);
  multiply_add(shape[0], shape[1], k, a.data(), b.data(), y.data());
  for (double& v : y)
    v *= attrs.alpha;
  if (c.has(2) && attrs.beta != 0) {
    const auto bias = OCTET_TRY(c.inputs[2].to_doubles());
    const auto index = broadcast_index(c.inputs[2].shape(), shape);
    for (size_t i = 0; i < y.size(); ++i)
      y[i] += attrs.beta * bias[static_cast<size_t>(index[i])];
  }
  return one(OCTET_TRY(rounded(outputs[0].type.type, shape, y)));
}

Role roles(const Node&, size_t input) {
  return input == 0 ? Role::kData : input == 1 ? Role::kWeight : Role::kBias;
}

QuantTrait quant(const Node& node, std::span<const InputInfo> inputs) {
  QuantTrait t;
  if (inputs.size() < 2 || inputs[1].constant == nullptr) {
    t.kind = QuantTrait::Kind::kProduct;
    t.inputs = {0, 1};
    return t;
  }
  t.kind = QuantTrait::Kind::kWeighted;
  t.inputs = {0};
  t.weight = 1;
  t.weight_axis = parse(node).transpose_b ? 0 : 1;
  if (inputs.size() > 2 && inputs[2].present) t.bias = 2;
  return t;
}

} // namespace

extern const OpFacets facets = {
    .since = 7,
    .infer = infer,
    .eval = eval,
    .roles = roles,
    .quant = quant,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.products = true, .unchanged = true},
};

} // namespace octet::onnx::op_Gemm
