// SPDX-License-Identifier: Apache-2.0
// QuantizeLinear and DequantizeLinear by their definition, apart from the library's own; casts
// between floats; products with weights in codes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/codec.h"
#include "core/convert.h"
#include "core/format.h"
#include "runner/arrays.h"
#include "runner/rules.h"

namespace octet::differential {
namespace {

using Outputs = Result<std::vector<Bounded>>;

/// Which of the scales belongs to each element: one for all, one for each index of an axis, or one
/// for each block along it.
struct Scales {
  int64_t inner = 1, length = 1, count = 1; ///< of an axis: what lies behind it, its extent
  int64_t block = 0;                        ///< elements along the axis that share a scale
  int64_t of(int64_t element) const {
    if (count == 1 && block == 0) return 0;
    const int64_t place = element / inner % length;
    if (block == 0) return place;
    const int64_t blocks = (length + block - 1) / block;
    return (element / inner / length * blocks + place / block) * inner + element % inner;
  }
};

Result<Scales> scales_of(const Step& s) {
  Scales out;
  const Tensor& x = s.in[0].value;
  const Tensor& scale = s.in[1].value;
  out.count = scale.count();
  out.block = s.node.attr_int("block_size", 0);
  if (out.count == 1 && out.block == 0) return out;
  int64_t axis = s.node.attr_int("axis", 1);
  if (axis < 0) axis += x.rank();
  if (axis >= x.rank()) return error("axis {} of {}", axis, to_string(x.shape()));
  out.length = x.dim(axis);
  for (int64_t i = axis + 1; i < x.rank(); ++i)
    out.inner *= x.dim(i);
  Shape fits = out.block == 0 ? Shape{out.length} : x.shape();
  if (out.block != 0) fits.at(static_cast<size_t>(axis)) = (out.length + out.block - 1) / out.block;
  if (scale.shape() != fits)
    return error("scales {} do not fit {}", to_string(scale.shape()), to_string(x.shape()));
  return out;
}

double zero_point(const Step& s, int64_t at) {
  if (!s.has(2)) return 0;
  const Tensor& z = s.in[2].value;
  return z.at(z.count() == 1 ? 0 : at);
}

/// A number as it is once stored in a type: codes of integers are rounded and clamped, floats cast.
class Stored {
 public:
  Stored(DType type, Saturate saturate) : format_(float_format(type)), saturate_(saturate) {
    if (format_ == nullptr && is_integer(type)) {
      highest_ = std::ldexp(1.0, bits(type) - (is_signed(type) ? 1 : 0)) - 1;
      lowest_ = is_signed(type) ? -highest_ - 1 : 0;
    }
  }
  double operator()(double v, double zero = 0) const {
    if (format_ != nullptr) return decode(*format_, encode(*format_, v + zero, saturate_));
    if (highest_ == 0) return static_cast<double>(static_cast<float>(v));
    return std::clamp((std::isnan(v) ? 0 : std::nearbyint(v)) + zero, lowest_, highest_);
  }
  /// How far what is stored may be from `(*this)(v)` where v may be off by `reach`.
  double error(double v, double reach, double zero = 0) const {
    if (!std::isfinite(reach)) return std::numeric_limits<double>::infinity();
    const double centre = (*this)(v, zero), high = (*this)(v + reach, zero),
                 low = (*this)(v - reach, zero);
    const bool crosses = std::fabs(v) <= reach; // from one NaN to the other, over all numbers
    if (std::isnan(centre) && std::isnan(high) && std::isnan(low) && !crosses) return 0;
    if (std::isnan(centre) || std::isnan(high) || std::isnan(low))
      return std::numeric_limits<double>::infinity();
    return std::max(high - centre, centre - low);
  }

 private:
  const FloatFormat* format_;
  Saturate saturate_;
  double lowest_ = 0, highest_ = 0;
};

/// What a DequantizeLinear makes.
DType made_type(const Step& s) {
  const auto said = static_cast<DType>(s.node.attr_int("output_dtype", 0));
  if (said != DType::kUndefined) return said;
  return is_half(s.type(1)) ? s.type(1) : DType::kFloat32;
}

Outputs dequantize(const Step& s) {
  const Bounded& x = s.in[0];
  const Bounded& scales = s.in[1];
  const Scales scale_at = OCTET_TRY(scales_of(s));
  const DType type = made_type(s);
  const Stored stored(type, Saturate::kNo);
  std::vector<double> value(static_cast<size_t>(x.value.count())), err(value.size());
  for (int64_t i = 0; i < x.value.count(); ++i) {
    const auto at = static_cast<size_t>(i);
    const int64_t k = scale_at.of(i);
    const double scale = scales.value.at(k);
    const double code = x.value.at(i) - zero_point(s, k);
    value[at] = code * scale;
    const double scale_error = scales.error.empty() ? 0 : scales.error.at(k);
    const double passed_on = (x.error.empty() ? 0 : x.error.at(i)) * std::fabs(scale) +
                             (scale_error == 0 ? 0 : std::fabs(code) * scale_error);
    err[at] = passed_on;
    if (!std::isnan(value[at])) err[at] += kRounding * (std::fabs(value[at]) + passed_on);
    // ONNX Runtime's QLinearAdd and QLinearMul add up products of codes and of zero points.
    if (s.rounding == Rounding::kCodes)
      err[at] += 2 * kRounding * (std::fabs(x.value.at(i)) + std::fabs(code - x.value.at(i))) *
                 std::fabs(scale);
    if (type == DType::kFloat32) continue;
    // octet hands on what codes mean unrounded (docs/numerics.md).
    err[at] = rounded_error(type, value[at], err[at]);
    value[at] = stored(value[at]);
  }
  Bounded out;
  out.value = Tensor::of<double>(x.value.shape(), std::span<const double>(value));
  out.error = Tensor::of<double>(x.value.shape(), std::span<const double>(err));
  out.scale = largest(scales.value);
  return std::vector<Bounded>{std::move(out)};
}

DType code_type(const Step& s) {
  const auto said = static_cast<DType>(s.node.attr_int("output_dtype", 0));
  if (said != DType::kUndefined) return said;
  return s.has(2) ? s.in[2].value.type() : DType::kUint8;
}

Outputs quantize(const Step& s) {
  const Bounded& x = s.in[0];
  const Scales scale_at = OCTET_TRY(scales_of(s));
  const DType type = code_type(s);
  const Stored stored(type, s.node.attr_int("saturate", 1) != 0 ? Saturate::kYes : Saturate::kNo);
  // ONNX divides in the type of the scale, ONNX Runtime in f32.
  const bool halves = is_half(s.type(1));
  const Stored half(halves ? s.type(1) : DType::kFloat16, Saturate::kNo);
  std::vector<double> value(static_cast<size_t>(x.value.count())), err(value.size());
  bool uncertain = false;
  for (int64_t i = 0; i < x.value.count(); ++i) {
    const auto at = static_cast<size_t>(i);
    const int64_t k = scale_at.of(i);
    const double scale = s.in[1].value.at(k), zero = zero_point(s, k);
    double v = x.value.at(i) / scale, reach = 0;
    if (x.error.empty()) { // a float that all agree on, and a true division
      v = static_cast<double>(static_cast<float>(x.value.at(i)) / static_cast<float>(scale));
    } else {
      reach = x.error.at(i) / scale + 4 * kRounding * std::fabs(v);
      if (s.rounding == Rounding::kCodes && x.is_softmax) reach += 1;
      // ONNX Runtime's QLinearMul adds the zero point before it rounds.
      if (s.rounding == Rounding::kCodes) reach += kRounding * std::fabs(zero);
    }
    if (halves) reach += half.error(v, reach) + std::fabs(half(v) - v);
    value[at] = stored(v, zero);
    // What ONNX Runtime makes of NaN depends on where it stands in a vector.
    if (std::isnan(v) && is_integer(type)) err[at] = std::numeric_limits<double>::infinity();
    if (reach != 0 && err[at] == 0) err[at] = stored.error(v, reach, zero);
    uncertain = uncertain || err[at] != 0;
  }
  Bounded out;
  out.value = OCTET_TRY(Tensor::zeros(type, x.value.shape()));
  OCTET_TRY(write_doubles(type, value, out.value.mutable_bytes(), Saturate::kNo));
  if (uncertain) out.error = Tensor::of<double>(x.value.shape(), std::span<const double>(err));
  return std::vector<Bounded>{std::move(out)};
}

/// Between floats; f16 and bf16 stay doubles that are such numbers. A cast that is taken back may be
/// left out, so that what comes in unrounded goes on so.
Outputs cast(const Step& s) {
  const Bounded& x = s.in[0];
  const auto type = static_cast<DType>(s.node.attr_int("to", 0));
  if (type != DType::kFloat32 && type != DType::kFloat16 && type != DType::kBfloat16)
    return error(ErrorCode::kUnsupported, "no rule for a cast to {}", name(type));
  const Stored stored(type, Saturate::kNo);
  Bounded out = x;
  out.value = map(as_double(x.value), stored);
  if (!x.error.empty() || is_half(type))
    out.error = map(as_double(x.value), or_zeros(x.error, out.value),
                    [&](double v, double e) { return rounded_error(type, v, e); });
  return std::vector<Bounded>{std::move(out)};
}

/// MatMulNBits: the weights are what it makes of the identity.
Outputs product_with_codes(const Step& s) {
  const int64_t k = s.node.attr_int("K", 0);
  std::vector<float> identity(static_cast<size_t>(k * k));
  for (int64_t i = 0; i < k; ++i)
    identity[static_cast<size_t>(i * (k + 1))] = 1;
  std::vector<Tensor> operands = s.values();
  operands[0] = Tensor::of<float>(Shape{k, k}, std::span<const float>(identity));
  for (size_t i = 2; i < operands.size(); ++i) // scales, bias
    if (is_real(operands[i]))
      operands[i] = OCTET_TRY(Tensor::from_doubles(DType::kFloat32, operands[i].shape(),
                                                   OCTET_TRY(operands[i].to_doubles())));
  if (operands.size() > 5) operands.resize(5);
  Node matmul;
  matmul.op_type = "MatMul";
  const Bounded w{.value = as_double(OCTET_TRY(s.run(operands)).at(0))};
  std::vector<Bounded> made = OCTET_TRY(find_product_rule("MatMul")(
      {.graph = s.graph, .node = matmul, .in = {s.in[0], w}, .rounding = s.rounding}));
  if (!s.has(5)) return made;
  if (is_half(s.type(0))) // octet's sum follows a product that is rounded
    made[0].error = map(made[0].value, made[0].error,
                        [&](double v, double e) { return rounded_error(s.type(0), v, e); });
  const Step sum{.graph = s.graph, .node = matmul, .in = {}, .rounding = s.rounding};
  made[0].value = OCTET_TRY(sum.broadcast("Add", made[0].value, s.in[5].value));
  made[0].error = plus(made[0].error, times(magnitude(made[0].value), 4 * kRounding));
  return made;
}

} // namespace

double rounded_error(DType type, double v, double error) {
  const Stored stored(type, Saturate::kNo);
  return std::max(error, stored.error(v, error)) + std::fabs(stored(v) - v);
}

Rule* find_code_rule(std::string_view op) {
  if (op == "QuantizeLinear") return quantize;
  if (op == "DequantizeLinear") return dequantize;
  if (op == "Cast") return cast;
  if (op == "MatMulNBits") return product_with_codes;
  return nullptr;
}

} // namespace octet::differential
