// SPDX-License-Identifier: Apache-2.0
#include "ops/qdq/sum_order.h"

#include <algorithm>

#include "core/format.h"
#include "ops/native/recurrent.h"

namespace octet {

int64_t weight_index(const SumOrder& order, int64_t channel, int64_t term) {
  if (!order.convolution)
    return order.rows ? channel * order.terms + term : term * order.channels + channel;
  const int64_t taps = order.terms / order.depth;
  return channel * order.terms + (term % order.depth) * taps + term / order.depth;
}

std::string read_order(const Node& node, const Shape& shape, SumOrder& out) {
  const auto unexpected = [&] { return fmt::format("its weights have {} axes", shape.size()); };
  if (std::count(shape.begin(), shape.end(), 0) > 0) return "it has no weights";
  if (out.convolution) {
    if (shape.size() < 3 || shape.size() > 5) return unexpected();
    out.groups = node.attr_int("group", 1);
    out.channels = shape[0];
    out.depth = shape[1];
    out.terms = 1;
    for (size_t i = 1; i < shape.size(); ++i)
      out.terms *= shape[i];
    if (out.groups < 1 || out.channels % out.groups != 0) return "its groups do not fit";
    return "";
  }
  if (native::is_recurrent(node)) {
    if (shape.size() != 3) return unexpected();
    out.rows = true;
    out.channels = shape[0] * shape[1];
    out.terms = shape[2];
    return "";
  }
  if (shape.size() != 2) return unexpected();
  if (node.attr_int("transA", 0) != 0) return "its first factor is transposed";
  out.rows = out.rows || node.attr_int("transB", 0) != 0;
  out.channels = shape[out.rows ? 0 : 1];
  out.terms = shape[out.rows ? 1 : 0];
  return "";
}

} // namespace octet
