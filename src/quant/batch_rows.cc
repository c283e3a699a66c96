// SPDX-License-Identifier: Apache-2.0
#include "quant/batch_rows.h"

#include <algorithm>

namespace octet {

int64_t examples_in(std::span<const Tensor> inputs) {
  return inputs.empty() || inputs[0].rank() == 0 ? 1 : inputs[0].dim(0);
}

bool can_be_cut(const Graph& graph, std::span<const Tensor> inputs) {
  if (inputs.empty() || inputs.size() != graph.inputs().size()) return false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TypeInfo& type = graph.value(graph.inputs()[i]).type;
    const bool open =
        type.has_rank() && type.rank() > 0 && !(*type.shape)[0].maybe_value().has_value();
    if (!open || inputs[i].type() == DType::kString || inputs[i].rank() == 0 ||
        inputs[i].dim(0) != inputs[0].dim(0) || bits(inputs[i].type()) < 8)
      return false;
  }
  return true;
}

std::vector<Tensor> rows_of(std::span<const Tensor> inputs, std::span<const int64_t> rows) {
  std::vector<Tensor> out;
  out.reserve(inputs.size());
  for (const Tensor& input : inputs) {
    Shape shape = input.shape();
    shape[0] = std::ssize(rows);
    out.push_back(Tensor::zeros(input.type(), std::move(shape)).value());
    const size_t row = input.bytes().size() / static_cast<size_t>(input.dim(0));
    auto to = out.back().mutable_bytes().begin();
    for (const int64_t r : rows) {
      const auto from = input.bytes().subspan(static_cast<size_t>(r) * row, row);
      to = std::copy(from.begin(), from.end(), to);
    }
  }
  return out;
}

} // namespace octet
