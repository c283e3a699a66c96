// SPDX-License-Identifier: Apache-2.0
#include "quant/qdq_writer.h"

#include <algorithm>
#include <cmath>

#include "core/convert.h"
#include "core/format.h"
#include "core/pages.h"

namespace octet {

namespace {

std::string key_of(const Tensor& tensor) {
  const auto bytes = tensor.bytes();
  return to_string(tensor.shape()) +
         std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

} // namespace

qdq::Grid grid_for(const TensorPlan& plan) {
  std::vector<float> scales;
  std::vector<double> zeros;
  for (const QuantParameters& p : parameters_for(plan.scheme, plan.ranges)) {
    scales.push_back(p.scale);
    zeros.push_back(p.zero_point);
  }
  const Shape shape = plan.axis ? Shape{static_cast<int64_t>(scales.size())} : Shape{};
  qdq::Grid out;
  out.scale = Tensor::of<float>(shape, std::span<const float>(scales));
  out.zero = Tensor::from_doubles(plan.scheme.type, shape, zeros).value();
  out.codes = plan.scheme.type;
  out.axis = plan.axis;
  out.axis_written = plan.axis.value_or(1);
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
  const std::string channels = zero.rank() == 0 ? "" : fmt::format("_{}", zero.count());
  return constant(fmt::format("zero_point_{}{}", octet::name(zero.type()), channels), zero);
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
                        const qdq::Grid& grid,
                        const std::string& of,
                        ValueId own_zero_point) {
  const bool quantizes = std::string_view(op) == "QuantizeLinear";
  const ValueId zero = own_zero_point.valid() ? own_zero_point : zero_point(grid.zero, of);
  return emit(op, {x, constant(of + "_scale", grid.scale), zero}, grid.axis,
              of + (quantizes ? "_quantized" : "_dequantized"));
}

ValueId QdqWriter::quantize(ValueId x, const TensorPlan& plan) {
  const std::string name = graph_.value(x).name; // a copy: values move where constants are added
  const ValueId codes = pair("QuantizeLinear", x, grid_for(plan), name);
  return plan.scheme.bits < 8 ? clipped(codes, plan.scheme) : codes;
}

ValueId QdqWriter::clipped(ValueId y, const Scheme& scheme) {
  const Codes limits = codes(scheme);
  std::vector<ValueId> inputs = {y};
  for (const double code : {limits.lowest, limits.highest})
    inputs.push_back(
        constant(fmt::format("code_{}", code),
                 Tensor::from_doubles(scheme.type, {}, std::vector<double>{code}).value()));
  return emit("Clip", std::move(inputs), std::nullopt, graph_.value(y).name + "_clip");
}

ValueId QdqWriter::dequantize(ValueId codes, const TensorPlan& plan, const std::string& of) {
  return pair("DequantizeLinear", codes, grid_for(plan), of);
}

Result<ValueId> QdqWriter::weight(ValueId id, const TensorPlan& plan, WeightForm form) {
  const std::string name = graph_.value(id).name;
  const qdq::Grid grid = grid_for(plan);
  auto found = stored_.find(id);
  if (found == stored_.end()) {
    const Tensor* tensor = graph_.constant(id);
    if (tensor == nullptr) return error("weight \"{}\" is not constant", name);
    const Tensor codes = OCTET_TRY_WITH(weight_codes(*tensor, plan), fmt::format("\"{}\"", name));
    Stored entry;
    entry.zero_point = graph_.add_constant(name + "_zero_point", grid.zero);
    entry.codes = form == WeightForm::kStored
                      ? graph_.add_constant(name + "_quantized", OCTET_TRY(made_.keep(codes)))
                      : pair("QuantizeLinear", id, grid, name, entry.zero_point);
    if (form == WeightForm::kTrained && plan.scheme.bits < 8)
      entry.codes = clipped(entry.codes, plan.scheme);
    found = stored_.emplace(id, entry).first;
  }
  return pair("DequantizeLinear", found->second.codes, grid, name, found->second.zero_point);
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
  return emit("DequantizeLinear", {q, s, z}, vector ? std::optional<int64_t>(0) : std::nullopt,
              name + "_dequantized");
}

namespace {

/// Codes of the elements of a weight from `first` on.
class WeightCoder {
 public:
  WeightCoder(const Tensor& weight, const TensorPlan& plan)
      : weight_(weight), plan_(plan), limits_(codes(plan.scheme)),
        parameters_(parameters_for(plan.scheme, plan.ranges)) {}

  Status prepare() {
    if (plan_.axis) {
      if (*plan_.axis < 0 || *plan_.axis >= weight_.rank())
        return error("axis {} is out of range for shape {}", *plan_.axis,
                     to_string(weight_.shape()));
      channels_ = weight_.dim(*plan_.axis);
      for (int64_t d = *plan_.axis + 1; d < weight_.rank(); ++d)
        inner_ *= weight_.dim(d);
    }
    if (channels_ != static_cast<int64_t>(parameters_.size()))
      return error("{} channels, but the plan has {} ranges", channels_, parameters_.size());
    if (!is_integer(plan_.scheme.type))
      return error(ErrorCode::kUnsupported, "weights in {} are not written yet; use int8",
                   scheme_text(plan_.scheme));
    return ok_status();
  }

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

 private:
  double code(float value, int64_t element) const {
    const QuantParameters& p = parameters_[static_cast<size_t>(element / inner_ % channels_)];
    const float ratio = value / p.scale; // in float, as QuantizeLinear divides
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
  int64_t inner_ = 1, channels_ = 1;
};

} // namespace

Result<Tensor> weight_codes(const Tensor& weight, const TensorPlan& plan) {
  WeightCoder coder(weight, plan);
  OCTET_TRY(coder.prepare());
  return coder.run();
}

} // namespace octet
