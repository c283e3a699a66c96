// SPDX-License-Identifier: Apache-2.0
// What MaxPool, AveragePool and LpPool share.
#include "ops/shared/pooling.h"

#include <algorithm>

#include "core/format.h"
#include "ops/shared/validate.h"

namespace octet {

Result<std::optional<std::vector<Dim>>> pool_shape(const Node& node, const TypeInfo& x) {
  const auto a = OCTET_TRY(parse_window(node, node.attr_ints("kernel_shape")));
  if (a.kernel.empty() || a.kernel.size() > 3)
    return error("kernel_shape has {} values; give one to three", a.kernel.size());
  if (!x.has_rank()) return std::optional<std::vector<Dim>>();
  if (x.rank() != static_cast<int64_t>(a.kernel.size()) + 2)
    return error("an input of rank {} and a kernel of {} axes; use a rank of {}", x.rank(),
                 a.kernel.size(), a.kernel.size() + 2);
  std::vector<Dim> out = {(*x.shape)[0], (*x.shape)[1]};
  for (const Dim& d : OCTET_TRY(window_sizes(a, std::span(*x.shape).subspan(2))))
    out.push_back(d);
  return std::optional(std::move(out));
}

Result<Window3>
pool_window(const Node& node, std::span<const int64_t> x, std::span<const int64_t> y) {
  const auto a = OCTET_TRY(parse_window(node, node.attr_ints("kernel_shape")));
  return window3(a, x.subspan(2), y.subspan(2));
}

int64_t padded_taps(const Window3& g, int64_t d, int64_t h, int64_t w) {
  const int64_t at[] = {d, h, w};
  int64_t count = 1;
  for (size_t axis = 0; axis < 3; ++axis) {
    int64_t inside = 0;
    for (int64_t k = 0; k < g.kernel[axis]; ++k) {
      const int64_t i = at[axis] * g.stride[axis] + k * g.dilation[axis] - g.pad[axis];
      if (i < g.in[axis] + g.pad_end[axis]) ++inside;
    }
    count *= inside;
  }
  return count;
}

std::vector<double>
average_planes(const Window3& g, int64_t planes, const std::vector<double>& x, bool count_padding) {
  std::vector<double> y(static_cast<size_t>(planes * g.out[0] * g.out[1] * g.out[2]));
  pool_planes(g, planes, y.data(), [&](int64_t plane, int64_t d, int64_t h, int64_t w) {
    double sum = 0;
    int64_t count = 0;
    for_each_tap(g, d, h, w, [&](int64_t offset) {
      sum += x[static_cast<size_t>(plane + offset)];
      ++count;
    });
    if (count_padding) count = padded_taps(g, d, h, w);
    return sum / static_cast<double>(std::max<int64_t>(count, 1));
  });
  return y;
}

} // namespace octet
