// SPDX-License-Identifier: Apache-2.0
// Helpers shared by the mappings: element types, axes, padding.
#include "train/ops/mapping.h"

#include <algorithm>

#include <ATen/ops/_local_scalar_dense.h>

namespace octet::train {

std::vector<int64_t> Call::ints(size_t i) const {
  const at::Tensor t = in(i).to(at::kCPU, at::kLong).contiguous();
  const int64_t* data = t.const_data_ptr<int64_t>();
  return {data, data + t.numel()};
}

double Call::number(size_t i) const {
  const at::Tensor& t = in(i);
  TORCH_CHECK(t.numel() == 1, "input ", i, " has ", t.numel(), " elements where one is needed");
  return t.to(at::kCPU, at::kDouble).contiguous().const_data_ptr<double>()[0];
}

bool has_scalar_type(DType type) {
  switch (type) {
  case DType::kUndefined:
  case DType::kString:
  case DType::kFloat6E2M3:
  case DType::kFloat6E3M2:
    return false;
  default:
    return true;
  }
}

at::ScalarType scalar_type(DType type) {
  switch (type) {
  case DType::kFloat32:
    return at::kFloat;
  case DType::kFloat64:
    return at::kDouble;
  case DType::kFloat16:
    return at::kHalf;
  case DType::kBfloat16:
    return at::kBFloat16;
  case DType::kUint8:
  case DType::kUint4:
  case DType::kUint2:
  case DType::kFloat4E2M1:
    return at::kByte;
  case DType::kInt8:
  case DType::kInt4:
  case DType::kInt2:
    return at::kChar;
  case DType::kUint16:
    return at::kUInt16;
  case DType::kInt16:
    return at::kShort;
  case DType::kUint32:
    return at::kUInt32;
  case DType::kInt32:
    return at::kInt;
  case DType::kUint64:
    return at::kUInt64;
  case DType::kInt64:
    return at::kLong;
  case DType::kBool:
    return at::kBool;
  case DType::kComplex64:
    return at::kComplexFloat;
  case DType::kComplex128:
    return at::kComplexDouble;
  case DType::kFloat8E4M3FN:
    return at::kFloat8_e4m3fn;
  case DType::kFloat8E4M3FNUZ:
    return at::kFloat8_e4m3fnuz;
  case DType::kFloat8E5M2:
    return at::kFloat8_e5m2;
  case DType::kFloat8E5M2FNUZ:
    return at::kFloat8_e5m2fnuz;
  case DType::kFloat8E8M0:
    return at::kFloat8_e8m0fnu;
  default:
    break;
  }
  TORCH_CHECK(false, "LibTorch has no element type for ", std::string(name(type)));
}

int64_t wrap_axis(int64_t axis, int64_t rank) {
  TORCH_CHECK(axis >= -rank && axis < std::max<int64_t>(rank, 1), "axis ", axis,
              " out of range for rank ", rank);
  return axis < 0 ? axis + rank : axis;
}

std::vector<int64_t> ints_or(std::vector<int64_t> values, size_t count, int64_t otherwise) {
  if (values.empty()) values.assign(count, otherwise);
  TORCH_CHECK(values.size() == count, "an attribute has ", values.size(), " values where ", count,
              " are needed");
  return values;
}

std::vector<int64_t> resolve_pads(const Node& node,
                                  std::span<const int64_t> sizes,
                                  std::span<const int64_t> kernel,
                                  std::span<const int64_t> strides,
                                  std::span<const int64_t> dilations) {
  const size_t n = sizes.size();
  const std::string mode = node.attr_string("auto_pad", "NOTSET");
  if (mode == "NOTSET") return ints_or(node.attr_ints("pads"), 2 * n, 0);
  std::vector<int64_t> pads(2 * n, 0);
  if (mode == "VALID") return pads;
  for (size_t i = 0; i < n; ++i) {
    const int64_t out = (sizes[i] + strides[i] - 1) / strides[i];
    const int64_t extent = (kernel[i] - 1) * dilations[i] + 1;
    const int64_t total = std::max<int64_t>(0, (out - 1) * strides[i] + extent - sizes[i]);
    const int64_t small = total / 2;
    pads[i] = mode == "SAME_UPPER" ? small : total - small;
    pads[n + i] = total - pads[i];
  }
  return pads;
}

std::vector<int64_t> torch_pads(std::span<const int64_t> pads) {
  const size_t n = pads.size() / 2;
  std::vector<int64_t> out;
  for (size_t i = n; i-- > 0;) {
    out.push_back(pads[i]);
    out.push_back(pads[n + i]);
  }
  return out;
}

} // namespace octet::train
