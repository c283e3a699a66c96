// SPDX-License-Identifier: Apache-2.0
// octet.native MaxPool (1). x: [N, H, W, C] f32/i8/u8. Attributes: kernel_shape [2], strides, pads,
// auto_pad, ceil_mode, dilations, global. Padding never wins; a NaN in the window gives NaN; a window of padding alone gives the
// type's lowest value. docs/native-operators.md.
#include <cmath>
#include <limits>
#include <type_traits>

#include "ops/native/images.h"

namespace octet::native::op_MaxPool {
namespace {

constexpr TypeSet kTypes{DType::kFloat32, DType::kInt8, DType::kUint8};

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 1, 1));
  OCTET_TRY(check_input(c, 0, kTypes));
  OCTET_TRY(check_rank(c, 0, 4, 4));
  const TypeInfo& x = c.input(0).type;
  return one(x.type, OCTET_TRY(image_pool_shape(c.node, x)));
}

template <class T>
T larger(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(a)) return a;
  return a > b ? a : b; // takes a NaN
}

template <class T>
void pool(const Window3& g, const Tensor& xt, Tensor& y) {
  using Limits = std::numeric_limits<T>;
  constexpr T kLowest = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  const auto x = xt.data<T>();
  const int64_t channels = xt.dim(3);
  T* out = y.mutable_data<T>().data();
  for_each_pixel(g, xt.dim(0), channels, [&](int64_t image, int64_t h, int64_t w) {
    for (int64_t k = 0; k < channels; ++k)
      out[k] = kLowest;
    for_each_tap(g, image, channels, h, w, [&](int64_t, int64_t pixel) {
      for (int64_t k = 0; k < channels; ++k)
        out[k] = larger(out[k], x[static_cast<size_t>(pixel + k)]);
    });
    out += channels;
  });
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  Tensor y = OCTET_TRY(zeros_as_inferred(infer, c));
  const Tensor x = c.inputs[0].aligned();
  const auto attrs = OCTET_TRY(parse_image_pool(c.node, tensor_type(x.type(), x.shape())));
  const Window3 g = image_window(*attrs, x.shape(), y.shape());
  switch (x.type()) {
  case DType::kInt8:
    pool<int8_t>(g, x, y);
    break;
  case DType::kUint8:
    pool<uint8_t>(g, x, y);
    break;
  default:
    pool<float>(g, x, y);
  }
  return one(std::move(y));
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = is_lowered,
    .motion = moves_first<Motion::Kind::kOrder>,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::native::op_MaxPool
