// SPDX-License-Identifier: Apache-2.0
#include "data/batch_rows.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace octet {

BatchRows::BatchRows(const Graph& graph, const Dataset& data, int64_t wanted)
    : size_(batch_for(graph, data, wanted)),
      fixed_(batch_for(graph, data, 1) == batch_for(graph, data, 2)), examples_(data.size()) {}

int64_t BatchRows::meant(int64_t begin, int64_t end) const {
  return std::min(size_, end - begin);
}

std::vector<int64_t> BatchRows::from(int64_t begin, int64_t end) const {
  std::vector<int64_t> out(static_cast<size_t>(fixed_ ? size_ : meant(begin, end)));
  std::iota(out.begin(), out.end(), begin);
  for (int64_t& row : out)
    row %= examples_;
  return out;
}

Result<Tensor> first_rows(const Tensor& tensor, int64_t rows) {
  if (tensor.rank() == 0 || tensor.dim(0) <= rows) return tensor;
  Shape shape = tensor.shape();
  shape[0] = rows;
  if (tensor.type() == DType::kString) {
    const auto& values = tensor.string_values();
    const int64_t kept = tensor.count() / tensor.dim(0) * rows;
    return Tensor::strings(std::move(shape), {values.begin(), values.begin() + kept});
  }
  Tensor out = OCTET_TRY(Tensor::zeros(tensor.type(), std::move(shape)));
  const std::span<std::byte> to = out.mutable_bytes();
  if (!to.empty()) std::memcpy(to.data(), tensor.bytes().data(), to.size());
  return out;
}

} // namespace octet
