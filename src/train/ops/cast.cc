// SPDX-License-Identifier: Apache-2.0
// Cast and CastLike between types that both have in full; FP8 and types below 8 bits, where ONNX's
// rounding and saturation differ from a plain conversion, run by the reference.
#include "train/ops/mapping.h"

using octet::train::Apply;
using octet::train::Call;
using octet::train::scalar_type;

namespace {

bool is_plain(octet::DType type) {
  using octet::DType;
  switch (type) {
  case DType::kFloat32:
  case DType::kFloat64:
  case DType::kFloat16:
  case DType::kBfloat16:
  case DType::kInt8:
  case DType::kUint8:
  case DType::kInt16:
  case DType::kInt32:
  case DType::kInt64:
  case DType::kBool:
    return true;
  default:
    return false;
  }
}

Apply cast(octet::DType from, octet::DType to) {
  if (!is_plain(from) || !is_plain(to)) return {};
  const at::ScalarType type = scalar_type(to);
  return [type](Call& c) { c.out(c.in(0).to(type)); };
}

} // namespace

OCTET_TORCH(onnx, Cast) {
  return cast(p.type(0), static_cast<octet::DType>(p.node.attr_int("to", 0)));
}
OCTET_TORCH(onnx, CastLike) {
  return cast(p.type(0), p.type(1));
}
