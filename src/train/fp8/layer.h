// SPDX-License-Identifier: Apache-2.0
// The products of one layer in FP8, for autograd: forward, and those of both gradients.
//
//   y  = x8 w8 / (sx sw)      x8, w8: E4M3FN codes of x sx and w sw
//   dx = g8 w8' / (sg sw)     g8: E5M2 codes of the gradient of y times sg
//   dw = x8' g8 / (sg sx)
//
// Codes are multiplied and added up in f32; the factor comes last. A gradient passes the cast
// forward unchanged, also where that saturated.
#pragma once

#include <vector>

#include "train/fp8/scales.h"

namespace octet::train {

struct Fp8Convolution {
  std::vector<int64_t> strides, pads, dilations; ///< one for each spatial axis
  int64_t group = 1;
};

class Fp8Layer {
 public:
  /// Takes its places in `scales`, which must outlive it.
  explicit Fp8Layer(Fp8Scales& scales);

  /// x: [M, K], w: [K, N]; returns [M, N]. `record`: a step of training, whose amax count.
  at::Tensor linear(const at::Tensor& x, const at::Tensor& w, bool record) const;
  /// x: [N, C, ...], w: [O, C / group, ...].
  at::Tensor convolution(const at::Tensor& x,
                         const at::Tensor& w,
                         const Fp8Convolution& shape,
                         bool record) const;

  Fp8Cast input(const at::Tensor& x, bool record) const { return scales_.cast(input_, x, record); }
  Fp8Cast weight(const at::Tensor& w, bool record) const {
    return scales_.cast(weight_, w, record);
  }
  Fp8Cast gradient(const at::Tensor& g) const { return scales_.cast(gradient_, g, true); }

 private:
  Fp8Scales& scales_;
  size_t input_, weight_, gradient_;
};

} // namespace octet::train
