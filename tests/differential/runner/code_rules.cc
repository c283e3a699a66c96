// SPDX-License-Identifier: Apache-2.0
// QuantizeLinear and DequantizeLinear by their definition, apart from the library's own.
#include <algorithm>

#include "core/format.h"
#include "runner/arrays.h"
#include "runner/rules.h"

namespace octet::differential {
namespace {

/// Which of the scales belongs to each element.
struct Channels {
  int64_t inner = 1, count = 1;
  int64_t of(int64_t element) const { return count == 1 ? 0 : element / inner % count; }
};

Result<Channels> channels(const Step& s) {
  Channels out;
  const Tensor& x = s.in[0].value;
  out.count = s.in[1].value.count();
  if (out.count == 1) return out;
  int64_t axis = s.node.attr_int("axis", 1);
  if (axis < 0) axis += x.rank();
  if (s.in[1].value.rank() != 1 || axis >= x.rank() || x.dim(axis) != out.count)
    return error("{} scales do not fit {}", out.count, to_string(x.shape()));
  for (int64_t i = axis + 1; i < x.rank(); ++i)
    out.inner *= x.dim(i);
  return out;
}

double zero_point(const Step& s, int64_t channel) {
  if (!s.has(2)) return 0;
  const Tensor& z = s.in[2].value;
  return z.at(z.count() == 1 ? 0 : channel);
}

Result<std::vector<Bounded>> dequantize(const Step& s) {
  const Bounded& x = s.in[0];
  const Channels channel = OCTET_TRY(channels(s));
  std::vector<double> value(static_cast<size_t>(x.value.count())), err(value.size());
  for (int64_t i = 0; i < x.value.count(); ++i) {
    const auto at = static_cast<size_t>(i);
    const double scale = s.in[1].value.at(channel.of(i));
    value[at] = (x.value.at(i) - zero_point(s, channel.of(i))) * scale;
    const double passed_on = x.error.empty() ? 0 : x.error.at(i) * scale;
    err[at] = passed_on + kRounding * (std::fabs(value[at]) + passed_on);
  }
  Bounded out;
  out.value = Tensor::of<double>(x.value.shape(), std::span<const double>(value));
  out.error = Tensor::of<double>(x.value.shape(), std::span<const double>(err));
  out.scale = largest(s.in[1].value);
  return std::vector<Bounded>{std::move(out)};
}

struct CodeRange {
  double lowest, highest;
  double clamp(double code) const { return std::clamp(code, lowest, highest); }
};

Result<std::vector<Bounded>> quantize(const Step& s) {
  const Bounded& x = s.in[0];
  const Channels channel = OCTET_TRY(channels(s));
  const DType type = s.has(2) ? s.in[2].value.type() : DType::kUint8;
  if (type != DType::kInt8 && type != DType::kUint8)
    return error(ErrorCode::kUnsupported, "no rule for codes of type {}", name(type));
  const CodeRange range = type == DType::kInt8 ? CodeRange{-128, 127} : CodeRange{0, 255};
  std::vector<double> value(static_cast<size_t>(x.value.count())), err(value.size());
  bool uncertain = false;
  for (int64_t i = 0; i < x.value.count(); ++i) {
    const auto at = static_cast<size_t>(i);
    const double scale = s.in[1].value.at(channel.of(i)), zero = zero_point(s, channel.of(i));
    const auto code = [&](double v) { return range.clamp(std::nearbyint(v) + zero); };
    if (x.error.empty()) { // a float that all agree on, and a true division
      const auto quotient = static_cast<float>(x.value.at(i)) / static_cast<float>(scale);
      value[at] = code(static_cast<double>(quotient));
      continue;
    }
    const double v = x.value.at(i) / scale;
    double reach = x.error.at(i) / scale + 4 * kRounding * std::fabs(v);
    if (s.rounding == Rounding::kCodes && x.is_softmax) reach += 1;
    value[at] = code(v);
    err[at] = std::max(code(v + reach) - value[at], value[at] - code(v - reach));
    uncertain = uncertain || err[at] != 0;
  }
  Bounded out;
  out.value = OCTET_TRY(Tensor::from_doubles(type, x.value.shape(), value));
  if (uncertain) out.error = Tensor::of<double>(x.value.shape(), std::span<const double>(err));
  return std::vector<Bounded>{std::move(out)};
}

} // namespace

Rule* find_code_rule(std::string_view op) {
  if (op == "QuantizeLinear") return quantize;
  if (op == "DequantizeLinear") return dequantize;
  return nullptr;
}

} // namespace octet::differential
