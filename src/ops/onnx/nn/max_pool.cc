// SPDX-License-Identifier: Apache-2.0
// MaxPool (opset 8 to 22), one to three spatial axes. y: the largest element of each window, NaN
// when it holds one; indices: its place in the whole of x, row-major, with storage_order 1
// column-major within the spatial axes. Padding never wins.
#include <cmath>
#include <limits>

#include "ops/shared/pooling.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_MaxPool {
namespace {

constexpr TypeSet kTypes = kFloatTypes | TypeSet{DType::kInt8, DType::kUint8};

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 1, 1));
  OCTET_TRY(check_input(c, 0, kTypes));
  auto shape = OCTET_TRY(pool_shape(c.node, c.input(0).type));
  auto outputs = one(c.input(0).type.type, shape);
  outputs.push_back(one(DType::kInt64, std::move(shape))[0]);
  return outputs;
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  const auto outputs = OCTET_TRY(infer_values(infer, c));
  const Shape shape = OCTET_TRY(shape_of(outputs[0]));
  const auto x = OCTET_TRY(c.inputs[0].to_doubles());
  const Window3 g = OCTET_TRY(pool_window(c.node, c.inputs[0].shape(), shape));
  const bool by_columns = c.node.attr_int("storage_order", 0) != 0;
  std::vector<double> y(static_cast<size_t>(OCTET_TRY(element_count(shape))));
  Tensor indices = OCTET_TRY(Tensor::zeros(DType::kInt64, shape));
  auto index = indices.mutable_data<int64_t>().begin();
  pool_planes(g, shape[0] * shape[1], y.data(),
              [&](int64_t plane, int64_t d, int64_t h, int64_t w) {
                double best = -std::numeric_limits<double>::infinity();
                int64_t place = -1;
                for_each_tap(g, d, h, w, [&](int64_t offset) {
                  const double v = x[static_cast<size_t>(plane + offset)];
                  if (place >= 0 && !(v > best) && !(std::isnan(v) && !std::isnan(best))) return;
                  best = v;
                  place = offset;
                });
                *index++ = place < 0 ? -1 : plane + (by_columns ? column_major(g, place) : place);
                return best;
              });
  std::vector<Tensor> results = one(OCTET_TRY(rounded(outputs[0].type.type, shape, y)));
  results.push_back(std::move(indices));
  return results;
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = moves_data,
    .motion = moves_first<Motion::Kind::kOrder>,
    .range = of_sources,
    .facts = Facts{.by_magnitude = true, .unchanged = true, .optional_outputs = 0b10},
};

} // namespace octet::onnx::op_MaxPool
