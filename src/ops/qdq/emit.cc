// SPDX-License-Identifier: Apache-2.0
#include "ops/qdq/emit.h"

#include <algorithm>

namespace octet::qdq {

namespace {

ValueId
emit_node(Patch& patch, const char* op_type, const Grid& grid, ValueId x, const std::string& name) {
  const ValueId scale = patch.constant(name + "_scale", grid.scale);
  const ValueId zero = patch.constant(name + "_zero_point", grid.zero);
  Attributes attributes;
  if (!grid.per_tensor()) attributes["axis"].value = grid.axis_written;
  return patch.emit(op_type, {x, scale, zero}, std::move(attributes), name);
}

} // namespace

ValueId emit_quantize(Patch& patch, const Grid& grid, ValueId x, const std::string& name) {
  return emit_node(patch, "QuantizeLinear", grid, x, name);
}

ValueId emit_dequantize(Patch& patch, const Grid& grid, ValueId codes, const std::string& name) {
  return emit_node(patch, "DequantizeLinear", grid, codes, name);
}

ValueId emit_arithmetic(
    Patch& patch, const Grid& grid, ValueId codes, int64_t rank, const std::string& name) {
  Shape shape;
  if (!grid.per_tensor()) {
    const int64_t axis = grid.axis_written < 0 ? grid.axis_written + rank : grid.axis_written;
    shape.assign(static_cast<size_t>(rank - axis), 1);
    shape[0] = grid.count();
  }
  const auto constant = [&](const std::vector<double>& values, const char* what) {
    return patch.constant(name + what, Tensor::from_doubles(grid.real(), shape, values).value());
  };
  Attributes to;
  to["to"].value = static_cast<int64_t>(grid.real());
  ValueId x = patch.emit("Cast", {codes}, std::move(to), name + "_cast");
  const std::vector<double> zeros = grid.zeros();
  if (std::any_of(zeros.begin(), zeros.end(), [](double z) { return z != 0; }))
    x = patch.emit("Sub", {x, constant(zeros, "_zero")}, {}, name + "_centered");
  return patch.emit("Mul", {x, constant(grid.scales(), "_factor")}, {}, name + "_values");
}

} // namespace octet::qdq
