// SPDX-License-Identifier: Apache-2.0
// Indices into tensors; see indices.h.
#include "ops/shared/indices.h"

#include <cmath>
#include <numeric>

#include "core/format.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/movement.h"

namespace octet {

Result<std::vector<int64_t>> indices_within(const Tensor& indices, int64_t size) {
  auto out = OCTET_TRY(integer_values(indices));
  for (int64_t& i : out) {
    if (i < -size || i >= size)
      return error("index {} out of range for a dimension of {}; use {} to {}", i, size, -size,
                   size - 1);
    if (i < 0) i += size;
  }
  return out;
}

Result<ScatterReduction> parse_reduction(const Node& node) {
  const std::string text = node.attr_string("reduction", "none");
  if (text == "none") return ScatterReduction::kNone;
  if (text == "add") return ScatterReduction::kAdd;
  if (text == "mul") return ScatterReduction::kMul;
  if (text == "min") return ScatterReduction::kMin;
  if (text == "max") return ScatterReduction::kMax;
  return error("reduction is \"{}\"; use none, add, mul, min or max", text);
}

namespace {

template <class T>
T reduced(ScatterReduction reduction, T a, T b) {
  switch (reduction) {
  case ScatterReduction::kAdd:
    return a + b;
  case ScatterReduction::kMul:
    return a * b;
  case ScatterReduction::kMin:
    return b < a ? b : a;
  case ScatterReduction::kMax:
    return b > a ? b : a;
  case ScatterReduction::kNone:
    break;
  }
  return b;
}

} // namespace

Result<Tensor> scatter(const Tensor& data,
                       const Tensor& updates,
                       std::span<const int64_t> places,
                       ScatterReduction reduction) {
  if (reduction == ScatterReduction::kNone) {
    std::vector<int64_t> index(static_cast<size_t>(data.count()));
    std::iota(index.begin(), index.end(), 0);
    for (size_t i = 0; i < places.size(); ++i)
      index[static_cast<size_t>(places[i])] = data.count() + static_cast<int64_t>(i);
    return take(std::vector<Tensor>{data, updates}, data.shape(), index);
  }
  if (is_float(data.type())) {
    auto out = OCTET_TRY(data.to_doubles());
    const auto more = OCTET_TRY(updates.to_doubles());
    for (size_t i = 0; i < places.size(); ++i) {
      double& at = out[static_cast<size_t>(places[i])];
      at = std::isnan(at) ? at : std::isnan(more[i]) ? more[i] : reduced(reduction, at, more[i]);
    }
    return real_tensor(data.type(), data.shape(), out);
  }
  auto out = OCTET_TRY(integer_values(data));
  const auto more = OCTET_TRY(integer_values(updates));
  const bool natural = !is_signed(data.type());
  const bool wraps = reduction == ScatterReduction::kAdd || reduction == ScatterReduction::kMul;
  for (size_t i = 0; i < places.size(); ++i) {
    int64_t& at = out[static_cast<size_t>(places[i])];
    // Sums and products wrap, which unsigned arithmetic does for both kinds.
    at = natural || wraps ? static_cast<int64_t>(reduced(reduction, static_cast<uint64_t>(at),
                                                         static_cast<uint64_t>(more[i])))
                          : reduced(reduction, at, more[i]);
  }
  return integer_tensor(data.type(), data.shape(), out);
}

Result<std::vector<int64_t>>
slice_starts(const Tensor& indices, std::span<const int64_t> shape, int64_t batch) {
  const Shape strides = strides_of(shape);
  const auto width = static_cast<size_t>(indices.shape().back());
  const auto values = OCTET_TRY(integer_values(indices));
  int64_t batches = 1;
  for (int64_t i = 0; i < batch; ++i)
    batches *= shape[static_cast<size_t>(i)];
  const int64_t batch_stride = batch == 0 ? 0 : strides[static_cast<size_t>(batch) - 1];
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < indices.shape().size(); ++i)
    rows *= indices.shape()[i];
  const int64_t rows_per_batch = batches == 0 ? 0 : rows / batches;
  std::vector<int64_t> out;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t at = row / rows_per_batch * batch_stride;
    for (size_t k = 0; k < width; ++k) {
      const size_t axis = static_cast<size_t>(batch) + k;
      int64_t i = values[static_cast<size_t>(row) * width + k];
      if (i < -shape[axis] || i >= shape[axis])
        return error("index {} out of range for axis {} of size {}; use {} to {}", i, axis,
                     shape[axis], -shape[axis], shape[axis] - 1);
      if (i < 0) i += shape[axis];
      at += i * strides[axis];
    }
    out.push_back(at);
  }
  return out;
}

} // namespace octet
