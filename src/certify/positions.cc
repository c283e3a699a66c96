// SPDX-License-Identifier: Apache-2.0
// gather_positions: what each sum of a layer adds up, as codes.
#include <algorithm>

#include "certify/products.h"
#include "core/format.h"
#include "ops/shared/window.h"

namespace octet {

namespace {

uint8_t as_uint8(const Tensor& codes, int64_t index, int32_t offset) {
  const auto raw = codes.bytes()[static_cast<size_t>(index)];
  const int32_t code = offset != 0 ? static_cast<int8_t>(raw) : static_cast<uint8_t>(raw);
  return static_cast<uint8_t>(code + offset);
}

Positions gather_rows(const StoredProduct& p, const Tensor& codes, int64_t limit) {
  Positions out;
  const int64_t rows = codes.count() / p.terms;
  out.count = std::min(rows, limit);
  for (int64_t i = 0; i < out.count; ++i)
    for (int64_t k = 0; k < p.terms; ++k)
      out.codes.push_back(as_uint8(codes, i * rows / out.count * p.terms + k, p.offset));
  return out;
}

} // namespace

Result<Positions> gather_positions(
    const Graph& graph, const StoredProduct& p, const Tensor& codes, int32_t zero, int64_t limit) {
  const Node& node = graph.node(p.node);
  if (codes.count() == 0) return Positions{};
  if (!p.convolution) return gather_rows(p, codes, limit);
  const Shape& weight = p.stored.shape();
  const Shape& x = codes.shape();
  if (x.size() != weight.size())
    return error("activations have {} axes and weights {}", x.size(), weight.size());
  const auto attrs = OCTET_TRY(parse_window(node, {weight.begin() + 2, weight.end()}));
  const std::vector<Dim> spatial(x.begin() + 2, x.end());
  std::vector<int64_t> sizes;
  for (const Dim& d : OCTET_TRY(window_sizes(attrs, spatial)))
    sizes.push_back(d.maybe_value().value_or(0));
  const Window3 g = window3(attrs, std::span(x).subspan(2), sizes);
  const int64_t depth = weight[1], total = x[0] * g.out_count();
  Positions out;
  out.count = std::min(total, limit);
  for (int64_t i = 0; i < out.count; ++i) {
    const int64_t at = i * total / out.count, image = at / g.out_count(), o = at % g.out_count();
    const int64_t place[3] = {o / (g.out[1] * g.out[2]), o / g.out[2] % g.out[1], o % g.out[2]};
    for (int64_t group = 0; group < p.groups; ++group)
      for (int64_t tap = 0; tap < g.kernel_count(); ++tap) {
        const int64_t k[3] = {tap / (g.kernel[1] * g.kernel[2]), tap / g.kernel[2] % g.kernel[1],
                              tap % g.kernel[2]};
        int64_t offset = 0;
        bool inside = true;
        for (size_t axis = 0; axis < 3; ++axis) {
          const int64_t c = place[axis] * g.stride[axis] + k[axis] * g.dilation[axis] - g.pad[axis];
          inside = inside && c >= 0 && c < g.in[axis];
          offset = offset * g.in[axis] + c;
        }
        for (int64_t c = 0; c < depth; ++c) {
          const int64_t plane = (image * x[1] + group * depth + c) * g.in_count();
          out.codes.push_back(inside ? as_uint8(codes, plane + offset, p.offset)
                                     : static_cast<uint8_t>(zero));
        }
      }
  }
  return out;
}

} // namespace octet
