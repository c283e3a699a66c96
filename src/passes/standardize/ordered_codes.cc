// SPDX-License-Identifier: Apache-2.0
#include "passes/standardize/ordered_codes.h"

#include <numeric>

namespace octet {

using ms::MatrixOrder;

bool OrderedCodes::has_scale(size_t i, bool columns) const {
  const Tensor* t = g_.constant(node_.input(i));
  if (t == nullptr) return false;
  return t->count() == 1 || (columns && t->rank() == 1 && g_.opset() >= 13);
}

ValueId OrderedCodes::scale(size_t i) {
  const Tensor* t = g_.constant(node_.input(i));
  if (t->rank() == 0) return node_.input(i);
  return patch_.constant(g_.value(node_.input(i)).name + "/number", t->reshaped({}).value());
}

ValueId OrderedCodes::zero() {
  if (!zero_.valid()) zero_ = patch_.constant(name("zero_point"), Tensor::scalar<int8_t>(0));
  return zero_;
}

ValueId OrderedCodes::values(ValueId codes, size_t at, const std::string& as) {
  return patch_.emit("DequantizeLinear", {codes, scale(at), zero()}, {}, as);
}

ValueId OrderedCodes::codes(ValueId x, size_t at, const std::string& as) {
  return patch_.emit("QuantizeLinear", {x, scale(at), zero()}, {}, as);
}

ValueId
OrderedCodes::weight(size_t codes, size_t at, MatrixOrder order, bool flat, const std::string& as) {
  const Tensor* w = g_.constant(node_.input(codes));
  if (w == nullptr || w->rank() < 2) return {};
  auto rows = ms::weight_rows(*w, order);
  if (rows.ok() && flat && w->rank() == 3) rows = rows->reshaped({w->dim(1), w->dim(2)});
  if (!rows.ok()) return {};
  const Tensor* scales = g_.constant(node_.input(at));
  if (scales->count() != 1 && scales->count() != w->dim(w->rank() - 1)) return {};
  const int64_t axis = rows->rank() - 1;
  const ValueId constant = patch_.constant(as + "_codes", std::move(*rows));
  if (scales->count() == 1) return values(constant, at, as);
  Attributes attributes;
  attributes["axis"].value = axis;
  const ValueId zeros =
      patch_.constant(as + "_zero_points", Tensor::zeros(DType::kInt8, {scales->count()}).value());
  return patch_.emit("DequantizeLinear", {constant, node_.input(at), zeros}, std::move(attributes),
                     as);
}

ValueId OrderedCodes::reorder(
    ValueId x, const TypeInfo& like, MatrixOrder from, MatrixOrder to, const std::string& as) {
  if (from == to) return x;
  if (from != MatrixOrder::kRows && to != MatrixOrder::kRows) {
    x = reorder(x, like, from, MatrixOrder::kRows, as + "/rows");
    return x.valid() ? reorder(x, like, MatrixOrder::kRows, to, as) : x;
  }
  if (!like.has_rank() || like.rank() < 2) return {};
  const auto& dims = *like.shape;
  const Dim &rows = dims[dims.size() - 2], &columns = dims.back();
  if (!rows.is_constant() || !columns.is_constant()) return {};
  const bool back = to == MatrixOrder::kRows;
  const auto axes = ms::order_axes(back ? from : to, rows.value(), columns.value());
  if (!axes.ok()) return {};
  const auto lead = static_cast<size_t>(like.rank() - 2);
  Shape split(lead, 0), whole(lead, 0);
  std::vector<int64_t> perm(lead + axes->perm.size());
  std::iota(perm.begin(), perm.end(), 0);
  for (size_t i = 0; i < axes->perm.size(); ++i) {
    const auto axis = static_cast<size_t>(axes->perm[i]);
    split.push_back(axes->split[back ? axis : i]);
    perm[lead + (back ? axis : i)] = static_cast<int64_t>(lead + (back ? i : axis));
  }
  whole.push_back(rows.value());
  whole.push_back(columns.value());
  const ValueId apart =
      patch_.emit("Reshape", {x, emit_ints(patch_, as + "/tiles", split)}, {}, as + "/split");
  Attributes attributes;
  attributes["perm"].value = std::move(perm);
  const ValueId turned =
      patch_.emit("Transpose", {apart}, std::move(attributes), as + "/transpose");
  return patch_.emit("Reshape", {turned, emit_ints(patch_, as + "/shape", whole)}, {}, as);
}

ValueId OrderedCodes::cast(ValueId x, DType type, const std::string& as) {
  Attributes to;
  to["to"].value = static_cast<int64_t>(type);
  return patch_.emit("Cast", {x}, std::move(to), as);
}

} // namespace octet
