// SPDX-License-Identifier: Apache-2.0
#include "quant/qdq_writer.h"

#include <algorithm>
#include <cmath>

#include "core/convert.h"
#include "core/format.h"
#include "core/pages.h"
#include "quant/channels.h"
#include "quant/format_rules.h"

namespace octet {

namespace {

std::string key_of(const Tensor& tensor) {
  const auto bytes = tensor.bytes();
  return to_string(tensor.shape()) +
         std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

} // namespace

qdq::Grid grid_for(const TensorPlan& plan, const Shape& weight) {
  std::vector<float> scales;
  std::vector<double> zeros;
  for (const QuantParameters& p : parameters_for(plan.scheme, plan.ranges)) {
    scales.push_back(p.scale);
    zeros.push_back(p.zero_point);
  }
  const Shape shape = plan.block > 0 ? scale_shape(weight, plan.axis, plan.block)
                      : plan.axis    ? Shape{static_cast<int64_t>(scales.size())}
                                     : Shape{};
  qdq::Grid out;
  out.scale = Tensor::of<float>(shape, std::span<const float>(scales));
  out.zero = Tensor::from_doubles(plan.scheme.type, shape, zeros).value();
  out.codes = plan.scheme.type;
  out.axis = plan.axis;
  out.axis_written = plan.axis.value_or(1);
  out.block = plan.block;
  return out;
}

ValueId QdqWriter::constant(const std::string& name, const Tensor& tensor) {
  const std::pair key(static_cast<int32_t>(tensor.type()), key_of(tensor));
  const auto found = constants_.find(key);
  if (found != constants_.end()) return found->second;
  const ValueId id = graph_.add_constant(name, tensor);
  constants_.emplace(key, id);
  return id;
}

ValueId QdqWriter::zero_point(const Tensor& zero, const std::string& of) {
  bool all_zero = true;
  for (int64_t i = 0; i < zero.count(); ++i)
    all_zero = all_zero && zero.at(i) == 0;
  if (!all_zero) return constant(of + "_zero_point", zero);
  std::string channels;
  for (const int64_t dim : zero.shape())
    channels += fmt::format("_{}", dim);
  return constant(fmt::format("zero_point_{}{}", octet::name(zero.type()), channels), zero);
}

ValueId QdqWriter::emit(const char* op,
                        std::vector<ValueId> inputs,
                        const qdq::Grid& grid,
                        const std::string& name) {
  Attributes attributes;
  if (grid.axis) attributes["axis"].value = *grid.axis;
  if (grid.block > 0) attributes["block_size"].value = grid.block;
  if (graph_.value(inputs[1]).type.type == DType::kFloat8E8M0) // else ONNX takes the scale's type
    attributes["output_dtype"].value = static_cast<int64_t>(DType::kFloat32);
  return graph_.emit(op, std::move(inputs), std::move(attributes), graph_.unique_name(name));
}

ValueId QdqWriter::pair(const char* op,
                        ValueId x,
                        const qdq::Grid& grid,
                        const std::string& of,
                        ValueId own_zero_point,
                        ValueId own_scale) {
  const bool quantizes = std::string_view(op) == "QuantizeLinear";
  const ValueId zero = own_zero_point.valid() ? own_zero_point : zero_point(grid.zero, of);
  const ValueId scale = own_scale.valid() ? own_scale : constant(of + "_scale", grid.scale);
  return emit(op, {x, scale, zero}, grid, of + (quantizes ? "_quantized" : "_dequantized"));
}

ValueId
QdqWriter::weight_scale(const qdq::Grid& grid, const TensorPlan& plan, const std::string& of) {
  const DType stored = plan.scheme.scale;
  if (stored == DType::kFloat32) return constant(of + "_scale", grid.scale);
  std::vector<double> scales = grid.scales();
  const float unit = stored == DType::kFloat8E4M3FN ? scale_unit(plan.scheme, plan.ranges) : 1.0F;
  for (double& scale : scales)
    scale /= static_cast<double>(unit); // a code times the unit, rounded to f32: exact but for that
  const ValueId codes =
      constant(of + "_scale", Tensor::from_doubles(stored, grid.scale.shape(), scales).value());
  if (stored == DType::kFloat8E8M0) return codes;
  return pair("DequantizeLinear", codes, qdq::Grid::per_tensor_of(stored, unit, 0, DType::kFloat32),
              of + "_scale");
}

ValueId QdqWriter::quantize(ValueId x, const TensorPlan& plan) {
  const std::string name = graph_.value(x).name; // a copy: values move where constants are added
  const ValueId codes = pair("QuantizeLinear", x, grid_for(plan), name);
  return plan.scheme.bits < all_bits(plan.scheme.type) ? clipped(codes, plan.scheme) : codes;
}

ValueId QdqWriter::clipped(ValueId y, const Scheme& scheme) {
  const Codes limits = codes(scheme);
  std::vector<ValueId> inputs = {y};
  for (const double code : {limits.lowest, limits.highest})
    inputs.push_back(
        constant(fmt::format("code_{}", code),
                 Tensor::from_doubles(scheme.type, {}, std::vector<double>{code}).value()));
  return emit("Clip", std::move(inputs), {}, graph_.value(y).name + "_clip");
}

ValueId QdqWriter::dequantize(ValueId codes, const TensorPlan& plan, const std::string& of) {
  return pair("DequantizeLinear", codes, grid_for(plan), of);
}

Result<qdq::Grid> QdqWriter::weight_grid(ValueId id, const TensorPlan& plan) const {
  const Tensor* tensor = graph_.constant(id);
  if (tensor == nullptr) return error("it is not constant");
  OCTET_TRY(check_weight(*tensor, plan));
  return grid_for(plan, tensor->shape());
}

Result<Tensor> QdqWriter::weight_codes(ValueId id, const TensorPlan& plan) {
  const std::string name = graph_.value(id).name;
  OCTET_TRY_WITH(weight_grid(id, plan), fmt::format("\"{}\"", name));
  auto found = coded_.find(id);
  if (found == coded_.end()) {
    const Tensor codes = OCTET_TRY_WITH(octet::weight_codes(*graph_.constant(id), plan),
                                        fmt::format("\"{}\"", name));
    found = coded_.emplace(id, OCTET_TRY(made_.keep(codes))).first;
  }
  return found->second;
}

Result<ValueId> QdqWriter::weight(ValueId id, const TensorPlan& plan, WeightForm form) {
  const std::string name = graph_.value(id).name;
  const qdq::Grid grid = OCTET_TRY_WITH(weight_grid(id, plan), fmt::format("\"{}\"", name));
  auto found = stored_.find(id);
  if (found == stored_.end()) {
    const Tensor codes = OCTET_TRY(weight_codes(id, plan));
    Stored entry;
    entry.zero_point = graph_.add_constant(name + "_zero_point", grid.zero);
    entry.scale = weight_scale(grid, plan, name);
    ValueId real = id;
    if (form == WeightForm::kFloat)
      if (auto within = OCTET_TRY(within_codes(*graph_.constant(id), plan)))
        real = graph_.add_constant(graph_.unique_name(name + "_clipped"), std::move(*within));
    entry.codes = form == WeightForm::kStored
                      ? graph_.add_constant(name + "_quantized", codes)
                      : pair("QuantizeLinear", real, grid, name, entry.zero_point, entry.scale);
    if (form == WeightForm::kTrained && plan.scheme.bits < all_bits(plan.scheme.type))
      entry.codes = clipped(entry.codes, plan.scheme);
    found = stored_.emplace(id, entry).first;
  }
  const Stored& stored = found->second;
  return pair("DequantizeLinear", stored.codes, grid, name, stored.zero_point, stored.scale);
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
  const ValueId s =
      constant(name + "_scale", Tensor::of<float>(shape, std::span<const float>(scales)));
  const ValueId z = zero_point(Tensor::of<int32_t>(shape, std::span<const int32_t>(zeros)), name);
  qdq::Grid grid;
  if (vector) grid.axis = 0;
  return emit("DequantizeLinear", {q, s, z}, grid, name + "_dequantized");
}

namespace {

/// Codes of the elements of a weight from `first` on.
class WeightCoder {
 public:
  WeightCoder(const Tensor& weight, const TensorPlan& plan)
      : weight_(weight), plan_(plan), limits_(codes(plan.scheme)),
        parameters_(parameters_for(plan.scheme, plan.ranges)), at_(layout_of(weight, plan.axis)),
        block_(std::max<int64_t>(plan.block, 1)), blocks_((at_.channels + block_ - 1) / block_) {}

  /// In pieces: a weight of gigabytes is never in memory as a whole, nor in doubles.
  Result<Tensor> run() const {
    Tensor out = OCTET_TRY(Tensor::zeros(plan_.scheme.type, weight_.shape()));
    const std::span<std::byte> to = out.mutable_bytes();
    constexpr auto kPiece = static_cast<int64_t>(kPieceBytes / sizeof(float));
    std::vector<float> values;
    std::vector<double> result;
    for (int64_t at = 0; at < weight_.count(); at += kPiece) {
      const auto n = static_cast<size_t>(std::min(kPiece, weight_.count() - at));
      values.resize(n);
      result.resize(n);
      const auto piece = bytes_of(weight_.type(), weight_.bytes(), at, n);
      OCTET_TRY(read_floats(weight_.type(), piece, values));
      if (weight_.bytes().size() >= kLargeTensorBytes) weight_.page_out(piece);
      for (size_t i = 0; i < n; ++i) {
        if (std::isnan(values[i])) return error("element {} is NaN", at + static_cast<int64_t>(i));
        result[i] = code(values[i], at + static_cast<int64_t>(i));
      }
      OCTET_TRY(write_doubles(plan_.scheme.type, result, bytes_of(plan_.scheme.type, to, at, n)));
    }
    return out;
  }

  /// The weight with what lies beyond the codes moved onto their ends; nothing where none does.
  Result<std::optional<Tensor>> within() const {
    std::vector<float> values = OCTET_TRY(weight_.to_floats());
    bool moved = false;
    for (size_t i = 0; i < values.size(); ++i) {
      const auto element = static_cast<int64_t>(i);
      const QuantParameters& p = parameters_[static_cast<size_t>(scale_of(element))];
      const double kept = code(values[i], element) - p.zero_point;
      if (kept == static_cast<double>(std::nearbyint(values[i] / p.scale))) continue;
      values[i] = static_cast<float>(kept) * p.scale;
      moved = true;
    }
    if (!moved) return std::optional<Tensor>();
    return std::optional(Tensor::of<float>(weight_.shape(), std::span<const float>(values)));
  }

 private:
  /// The scale of an element.
  int64_t scale_of(int64_t element) const {
    const int64_t channel = element / at_.inner % at_.channels;
    if (plan_.block == 0) return channel;
    const int64_t outer = element / (at_.inner * at_.channels);
    return (outer * blocks_ + channel / block_) * at_.inner + element % at_.inner;
  }

  double code(float value, int64_t element) const {
    const QuantParameters& p = parameters_[static_cast<size_t>(scale_of(element))];
    const float ratio = value / p.scale; // in float, as QuantizeLinear divides
    if (!is_integer(plan_.scheme.type)) return static_cast<double>(ratio);
    return std::clamp(static_cast<double>(std::nearbyint(ratio)) + p.zero_point, limits_.lowest,
                      limits_.highest);
  }

  template <class Byte>
  static std::span<Byte> bytes_of(DType type, std::span<Byte> all, int64_t first, size_t count) {
    return all.subspan(static_cast<size_t>(bytes_for(type, first)),
                       static_cast<size_t>(bytes_for(type, static_cast<int64_t>(count))));
  }

  const Tensor& weight_;
  const TensorPlan& plan_;
  Codes limits_;
  std::vector<QuantParameters> parameters_;
  Layout at_;
  int64_t block_, blocks_;
};

} // namespace

Status check_weight(const Tensor& weight, const TensorPlan& plan) {
  OCTET_TRY(check_scheme(plan.scheme));
  if (plan.axis && (*plan.axis < 0 || *plan.axis >= weight.rank()))
    return error("axis {} is out of range for shape {}", *plan.axis, to_string(weight.shape()));
  if (plan.block < 0 || (plan.block > 0 && !plan.axis))
    return error("blocks of {} need an axis", plan.block);
  const Shape scales = scale_shape(weight.shape(), plan.axis, plan.block);
  if (OCTET_TRY(element_count(scales)) != static_cast<int64_t>(plan.ranges.size()))
    return error("its scales have the shape {}, but the plan has {} ranges", to_string(scales),
                 plan.ranges.size());
  return ok_status();
}

Result<Tensor> weight_codes(const Tensor& weight, const TensorPlan& plan) {
  OCTET_TRY(check_weight(weight, plan));
  return WeightCoder(weight, plan).run();
}

Result<std::optional<Tensor>> within_codes(const Tensor& weight, const TensorPlan& plan) {
  OCTET_TRY(check_weight(weight, plan));
  const bool saturates = plan.scheme.bits == all_bits(plan.scheme.type) && !plan.scheme.narrow;
  if (!is_integer(plan.scheme.type) || saturates) return std::optional<Tensor>();
  return WeightCoder(weight, plan).within();
}

} // namespace octet
