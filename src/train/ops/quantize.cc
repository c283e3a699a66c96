// SPDX-License-Identifier: Apache-2.0
// QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear on their own. Where a QuantizeLinear
// feeds only matching DequantizeLinears, the executor runs the pair as one fake-quant function with
// a straight-through gradient instead (executor/qdq_pair.h); codes themselves have no gradient.
#include "train/ops/mapping.h"

using octet::train::Call;
using octet::train::wrap_axis;

OCTET_TORCH_REFERENCE(onnx, QuantizeLinear)
OCTET_TORCH_REFERENCE(onnx, DynamicQuantizeLinear)

OCTET_TORCH(onnx, DequantizeLinear) {
  const octet::DType type = p.type(0), scale = p.type(1);
  if (!octet::is_integer(type) || p.node.attr_int("block_size", 0) != 0 ||
      p.node.attr_int("output_dtype", 0) != 0 || !octet::is_float(scale))
    return {};
  const int64_t axis_attr = p.node.attr_int("axis", 1);
  return [axis_attr](Call& c) {
    const at::Tensor &q = c.in(0), &s = c.in(1);
    std::vector<int64_t> shape;
    if (s.numel() > 1) {
      shape.assign(static_cast<size_t>(q.dim()), 1);
      shape[static_cast<size_t>(wrap_axis(axis_attr, q.dim()))] = -1;
    }
    // The difference is taken in integers: both fit 32 bits, the difference of int32 codes 64.
    at::Tensor code = q.to(at::kLong);
    if (c.has(2)) code = code - c.in(2).to(at::kLong).reshape(shape);
    // A half holds few of the codes that have more than 8 bits.
    c.out((code.to(at::kFloat) * s.to(at::kFloat).reshape(shape)).to(s.scalar_type()));
  };
}
