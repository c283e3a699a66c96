// SPDX-License-Identifier: Apache-2.0
// Col2Im of one or two axes: the image with its padding is summed up, then the padding cut off.
#include <algorithm>

#include "train/ops/mapping.h"
#include "train/ops/widened.h"
#include <ATen/ops/col2im.h>
#include <ATen/ops/constant_pad_nd.h>

using octet::train::Call;
using octet::train::ints_or;
using octet::train::torch_pads;
using octet::train::widened;

OCTET_TORCH(onnx, Col2Im) {
  if (!octet::is_float(p.type(0))) return {};
  // LibTorch has a kernel for images alone.
  const octet::TypeInfo& image_type = p.graph.value(p.node.inputs[1]).type;
  const auto axes = image_type.has_rank() && image_type.rank() == 1
                        ? image_type.shape->front().maybe_value()
                        : std::nullopt;
  if (axes && *axes > 2) return {};
  const octet::Node node = p.node;
  return [node](Call& c) {
    const at::Tensor x = widened(c.in(0));
    std::vector<int64_t> image = c.ints(1), block = c.ints(2);
    const size_t n = image.size();
    TORCH_CHECK(n >= 1 && n <= 2 && block.size() == n, "image_shape has ", n,
                " entries and block_shape ", block.size(), "; give one or two of each");
    std::vector<int64_t> strides = ints_or(node.attr_ints("strides"), n, 1),
                         dilations = ints_or(node.attr_ints("dilations"), n, 1);
    std::vector<int64_t> pads = ints_or(node.attr_ints("pads"), 2 * n, 0);
    for (size_t i = 0; i < n; ++i)
      image[i] += pads[i] + pads[n + i];
    if (n == 1)
      for (std::vector<int64_t>* list : {&image, &block, &strides, &dilations})
        list->insert(list->begin(), 1);
    at::Tensor y = at::col2im(x, image, block, dilations, {0, 0}, strides);
    if (n == 1) y = y.squeeze(2);
    for (int64_t& pad : pads)
      pad = -pad;
    if (std::any_of(pads.begin(), pads.end(), [](int64_t pad) { return pad != 0; }))
      y = at::constant_pad_nd(y, torch_pads(pads));
    c.out(y.to(c.in(0).scalar_type()));
  };
}
