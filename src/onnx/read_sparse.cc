// SPDX-License-Identifier: Apache-2.0
// SparseTensorProto to a dense Tensor. Indices are linear ([nnz]) or coordinates ([nnz, rank]), in
// ascending order without repetition. Source: onnx.proto, SparseTensorProto.
#include "onnx/read_sparse.h"

#include <cstring>

#include "core/format.h"
#include "onnx/schema.h"

namespace octet::onnx {
namespace {

constexpr int64_t kMaxDenseBytes = int64_t{1} << 30;

Result<int64_t> linear_index(const std::vector<int64_t>& indices,
                             int64_t item,
                             int64_t per_item,
                             const Shape& dims,
                             int64_t count) {
  const int64_t* at = indices.data() + item * per_item;
  int64_t linear = at[0];
  if (per_item != 1 || dims.size() == 1) {
    linear = 0;
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      if (at[axis] < 0 || at[axis] >= dims[axis])
        return error("index {} of axis {} is {}, the dimension is {}", item, axis, at[axis],
                     dims[axis]);
      linear = linear * dims[axis] + at[axis];
    }
  }
  if (linear < 0 || linear >= count)
    return error("index {} is {}, the tensor has {} elements", item, linear, count);
  return linear;
}

Result<Tensor> densify(const Tensor& values, const Tensor& indices, const Shape& dims) {
  const int64_t count = OCTET_TRY(element_count(dims));
  const int width = bits(values.type());
  if (width == 0 || width % 8 != 0)
    return error(ErrorCode::kUnsupported, "sparse tensors of {} are not supported",
                 octet::name(values.type()));
  if (count > kMaxDenseBytes / (width / 8))
    return error(ErrorCode::kUnsupported, "takes more than 1 GiB when dense: {}{}",
                 octet::name(values.type()), to_string(dims));
  if (dims.empty() || values.rank() != 1) return error("needs dims and values of rank 1");
  const int64_t nnz = values.count();
  const auto rank = static_cast<int64_t>(dims.size());
  const bool is_linear = indices.rank() == 1;
  if (indices.type() != DType::kInt64 || indices.rank() > 2 || indices.rank() < 1 ||
      indices.dim(0) != nnz || (!is_linear && indices.dim(1) != rank))
    return error("{} values need i64 indices of [{}] or [{}, {}], found {}{}", nnz, nnz, nnz, rank,
                 octet::name(indices.type()), to_string(indices.shape()));
  Tensor out = OCTET_TRY(Tensor::zeros(values.type(), dims));
  const std::vector<int64_t> at = OCTET_TRY(indices.to_ints());
  const auto item_bytes = static_cast<size_t>(width / 8);
  int64_t before = -1;
  for (int64_t i = 0; i < nnz; ++i) {
    const int64_t to = OCTET_TRY(linear_index(at, i, is_linear ? 1 : rank, dims, count));
    if (to <= before) return error("index {}: indices must ascend", i);
    before = to;
    std::memcpy(out.mutable_bytes().data() + static_cast<size_t>(to) * item_bytes,
                values.bytes().data() + static_cast<size_t>(i) * item_bytes, item_bytes);
  }
  return out;
}

} // namespace

Result<ReadTensor> read_sparse_tensor(Bytes message, const Source& source) {
  const Source inside{source.buffer, nullptr};
  ReadTensor values, indices;
  Shape dims;
  Reader reader = source.reader(message);
  while (reader.next()) {
    switch (reader.field()) {
    case sparse_tensor::kValues:
      values = OCTET_TRY_WITH(read_tensor(reader.bytes(), inside), "values");
      break;
    case sparse_tensor::kIndices:
      indices = OCTET_TRY_WITH(read_tensor(reader.bytes(), inside), "indices");
      break;
    case sparse_tensor::kDims:
      reader.each_integer([&](uint64_t d) { dims.push_back(static_cast<int64_t>(d)); });
      break;
    default:
      break;
    }
  }
  OCTET_TRY(reader.finish());
  Tensor dense = OCTET_TRY_WITH(densify(values.tensor, indices.tensor, dims),
                                fmt::format("sparse tensor \"{}\"", values.name));
  return ReadTensor{std::move(values.name), std::move(dense), {}};
}

} // namespace octet::onnx
