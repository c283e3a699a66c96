// SPDX-License-Identifier: Apache-2.0
// DepthToSpace and SpaceToDepth: blocks of pixels to channels and back, as a reshape, a permutation
// and a reshape.
#include "train/ops/mapping.h"
#include <ATen/ops/permute.h>
#include <ATen/ops/reshape.h>

using octet::train::Call;

OCTET_TORCH(onnx, DepthToSpace) {
  const int64_t b = p.node.attr_int("blocksize", 1);
  const bool crd = p.node.attr_string("mode", "DCR") == "CRD";
  return [=](Call& c) {
    const at::Tensor& x = c.in(0); // [N, C, H, W]
    const int64_t n = x.size(0), k = x.size(1) / (b * b), h = x.size(2), w = x.size(3);
    const at::Tensor blocks =
        crd ? at::permute(at::reshape(x, {n, k, b, b, h, w}), {0, 1, 4, 2, 5, 3})
            : at::permute(at::reshape(x, {n, b, b, k, h, w}), {0, 3, 4, 1, 5, 2});
    c.out(at::reshape(blocks, {n, k, h * b, w * b}));
  };
}

OCTET_TORCH(onnx, SpaceToDepth) {
  const int64_t b = p.node.attr_int("blocksize", 1);
  return [b](Call& c) {
    const at::Tensor& x = c.in(0); // [N, C, H, W]
    const int64_t n = x.size(0), k = x.size(1), h = x.size(2) / b, w = x.size(3) / b;
    const at::Tensor blocks = at::permute(at::reshape(x, {n, k, h, b, w, b}), {0, 3, 5, 1, 2, 4});
    c.out(at::reshape(blocks, {n, k * b * b, h, w}));
  };
}
