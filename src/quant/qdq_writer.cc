// SPDX-License-Identifier: Apache-2.0
#include "quant/qdq_writer.h"

#include <algorithm>
#include <cmath>

#include "core/format.h"

namespace octet {

namespace {

std::string key_of(const Tensor& tensor) {
  const auto bytes = tensor.bytes();
  return to_string(tensor.shape()) +
         std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

} // namespace

ValueId QdqWriter::constant(const std::string& name, const Tensor& tensor) {
  const std::pair key(static_cast<int32_t>(tensor.type()), key_of(tensor));
  const auto found = constants_.find(key);
  if (found != constants_.end()) return found->second;
  const ValueId id = graph_.add_constant(name, tensor);
  constants_.emplace(key, id);
  return id;
}

ValueId QdqWriter::scale(const std::vector<QuantParameters>& parameters, bool vector) {
  std::vector<float> values;
  for (const QuantParameters& p : parameters)
    values.push_back(p.scale);
  const Shape shape = vector ? Shape{static_cast<int64_t>(values.size())} : Shape{};
  return constant("scale", Tensor::of<float>(shape, std::span<const float>(values)));
}

ValueId
QdqWriter::zero_point(const std::vector<QuantParameters>& parameters, DType type, bool vector) {
  std::vector<double> values;
  for (const QuantParameters& p : parameters)
    values.push_back(p.zero_point);
  const Shape shape = vector ? Shape{static_cast<int64_t>(values.size())} : Shape{};
  return constant("zero_point", Tensor::from_doubles(type, shape, values).value());
}

ValueId QdqWriter::emit(const char* op,
                        std::vector<ValueId> inputs,
                        std::optional<int64_t> axis,
                        const std::string& name) {
  Attributes attributes;
  if (axis) attributes["axis"].value = *axis;
  return graph_.emit(op, std::move(inputs), std::move(attributes), graph_.unique_name(name));
}

ValueId QdqWriter::pair(const char* op,
                        ValueId x,
                        const TensorPlan& plan,
                        const std::string& name,
                        ValueId own_zero_point) {
  const auto parameters = parameters_for(plan.scheme, plan.ranges);
  const bool vector = plan.axis.has_value();
  const ValueId zero =
      own_zero_point.valid() ? own_zero_point : zero_point(parameters, plan.scheme.type, vector);
  return emit(op, {x, scale(parameters, vector), zero}, plan.axis, name);
}

ValueId QdqWriter::quantize(ValueId x, const TensorPlan& plan) {
  const ValueId codes = pair("QuantizeLinear", x, plan, graph_.value(x).name + "_quantized");
  return plan.scheme.bits < 8 ? clipped(codes, plan.scheme) : codes;
}

ValueId QdqWriter::clipped(ValueId y, const Scheme& scheme) {
  const Codes limits = codes(scheme);
  std::vector<ValueId> inputs = {y};
  for (const double code : {limits.lowest, limits.highest})
    inputs.push_back(
        constant("clip", Tensor::from_doubles(scheme.type, {}, std::vector<double>{code}).value()));
  return emit("Clip", std::move(inputs), std::nullopt, graph_.value(y).name + "_clip");
}

ValueId QdqWriter::dequantize(ValueId codes, const TensorPlan& plan, const std::string& of) {
  return pair("DequantizeLinear", codes, plan, of + "_dequantized");
}

Result<ValueId> QdqWriter::weight(ValueId id, const TensorPlan& plan, bool stored) {
  const std::string name = graph_.value(id).name;
  auto found = stored_.find(id);
  if (found == stored_.end()) {
    const Tensor* tensor = graph_.constant(id);
    if (tensor == nullptr) return error("weight \"{}\" is not constant", name);
    const Tensor codes = OCTET_TRY_WITH(weight_codes(*tensor, plan), fmt::format("\"{}\"", name));
    std::vector<double> zeros;
    for (const QuantParameters& p : parameters_for(plan.scheme, plan.ranges))
      zeros.push_back(p.zero_point);
    const Shape shape = plan.axis ? Shape{static_cast<int64_t>(zeros.size())} : Shape{};
    Stored entry;
    entry.zero_point = graph_.add_constant(
        name + "_zero_point", OCTET_TRY(Tensor::from_doubles(plan.scheme.type, shape, zeros)));
    entry.codes = stored ? graph_.add_constant(name + "_quantized", codes)
                         : pair("QuantizeLinear", id, plan, name + "_quantized", entry.zero_point);
    found = stored_.emplace(id, entry).first;
  }
  return pair("DequantizeLinear", found->second.codes, plan, name + "_dequantized",
              found->second.zero_point);
}

ValueId QdqWriter::int32_bias(const std::string& name,
                              const std::vector<int32_t>& codes,
                              const std::vector<float>& scales) {
  const bool vector = scales.size() > 1;
  const Shape shape = vector ? Shape{static_cast<int64_t>(scales.size())} : Shape{};
  const std::vector<int32_t> zeros(scales.size(), 0);
  const ValueId q = graph_.add_constant(
      name + "_quantized",
      Tensor::of<int32_t>({static_cast<int64_t>(codes.size())}, std::span<const int32_t>(codes)));
  const ValueId s = constant("scale", Tensor::of<float>(shape, std::span<const float>(scales)));
  const ValueId z =
      constant("zero_point", Tensor::of<int32_t>(shape, std::span<const int32_t>(zeros)));
  return emit("DequantizeLinear", {q, s, z}, vector ? std::optional<int64_t>(0) : std::nullopt,
              name + "_dequantized");
}

Result<Tensor> weight_codes(const Tensor& weight, const TensorPlan& plan) {
  const auto parameters = parameters_for(plan.scheme, plan.ranges);
  int64_t inner = 1;
  int64_t channels = 1;
  if (plan.axis) {
    if (*plan.axis < 0 || *plan.axis >= weight.rank())
      return error("axis {} is out of range for shape {}", *plan.axis, to_string(weight.shape()));
    channels = weight.dim(*plan.axis);
    for (int64_t d = *plan.axis + 1; d < weight.rank(); ++d)
      inner *= weight.dim(d);
  }
  if (channels != static_cast<int64_t>(parameters.size()))
    return error("{} channels, but the plan has {} ranges", channels, parameters.size());
  if (!is_integer(plan.scheme.type))
    return error(ErrorCode::kUnsupported, "weights in {} are not written yet; use int8",
                 text(plan.scheme));
  const std::vector<float> values = OCTET_TRY(weight.to_floats());
  const Codes limits = codes(plan.scheme);
  std::vector<double> out(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) return error("element {} is NaN", i);
    const auto channel = static_cast<int64_t>(i) / inner % channels;
    const QuantParameters& p = parameters[static_cast<size_t>(channel)];
    const float ratio = values[i] / p.scale; // in float, as QuantizeLinear divides
    out[i] = std::clamp(static_cast<double>(std::nearbyint(ratio)) + p.zero_point, limits.lowest,
                        limits.highest);
  }
  return Tensor::from_doubles(plan.scheme.type, weight.shape(), out);
}

} // namespace octet
