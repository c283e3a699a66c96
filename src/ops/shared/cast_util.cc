// SPDX-License-Identifier: Apache-2.0
// Conversion between element types; see cast_util.h.
#include "ops/shared/cast_util.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

#include "core/codec.h"
#include "core/convert.h"
#include "core/format.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/reduce.h"
#include "ops/shared/types.h"

namespace octet {
namespace {

bool is_complex(DType type) {
  return type == DType::kComplex64 || type == DType::kComplex128;
}

Result<double> number(const std::string& text) {
  char* end = nullptr;
  const double v = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end != '\0')
    return error("\"{}\" is no number; cast only strings that hold one", text);
  return v;
}

std::string decimal(double v, DType from) {
  if (std::isnan(v)) return "NaN";
  if (std::isinf(v)) return v < 0 ? "-INF" : "INF";
  std::string text =
      from == DType::kFloat64 ? fmt::format("{}", v) : fmt::format("{}", static_cast<float>(v));
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

Result<Tensor> from_strings(const Tensor& x, DType to, const CastOptions& options) {
  const bool whole = is_integer(to);
  std::vector<double> reals;
  std::vector<int64_t> ints;
  for (const std::string& text : x.string_values()) {
    if (!whole) {
      reals.push_back(OCTET_TRY(number(text)));
      continue;
    }
    int64_t v = 0;
    const char* end = text.data() + text.size();
    const auto [at, status] = std::from_chars(text.data(), end, v);
    if (status != std::errc{} || at != end)
      return error("\"{}\" is no integer; cast it to a floating type first", text);
    ints.push_back(v);
  }
  if (whole) return integer_tensor(to, x.shape(), ints);
  return cast(Tensor::of<double>(x.shape(), reals), to, options);
}

Result<Tensor> to_strings(const Tensor& x) {
  std::vector<std::string> out;
  if (is_float(x.type())) {
    for (double v : OCTET_TRY(x.to_doubles()))
      out.push_back(decimal(v, x.type()));
  } else {
    for (int64_t v : OCTET_TRY(integer_values(x)))
      out.push_back(x.type() == DType::kUint64 ? std::to_string(static_cast<uint64_t>(v))
                                               : std::to_string(v));
  }
  return Tensor::strings(x.shape(), std::move(out));
}

Result<Tensor> from_reals(const Tensor& x, DType to, const CastOptions& options) {
  auto values = OCTET_TRY(x.to_doubles());
  if (is_integer(to)) {
    std::vector<int64_t> whole;
    for (double& v : values) {
      v = std::trunc(v);
      whole.push_back(std::abs(v) < 0x1p62 ? static_cast<int64_t>(v) : 0);
    }
    if (bits(to) < 8) return integer_tensor(to, x.shape(), whole);
  }
  Tensor out = OCTET_TRY(Tensor::zeros(to, x.shape()));
  if (to == DType::kFloat8E8M0) {
    const auto rounding = options.round_mode == "up"     ? E8m0Rounding::kUp
                          : options.round_mode == "down" ? E8m0Rounding::kDown
                                                         : E8m0Rounding::kNearest;
    const auto codes = out.mutable_bytes();
    const auto saturate = options.saturate ? Saturate::kYes : Saturate::kNo;
    for (size_t i = 0; i < values.size(); ++i)
      codes[i] = static_cast<std::byte>(encode_e8m0(values[i], rounding, saturate));
    return out;
  }
  OCTET_TRY(write_doubles(to, values, out.mutable_bytes(),
                          options.saturate ? Saturate::kYes : Saturate::kNo));
  return out;
}

} // namespace

std::optional<std::vector<Dim>> cast_dims(const InputInfo& x, DType to) {
  auto dims = is_integer(to) ? known_dims(x) : std::nullopt;
  if (!dims || to == DType::kInt64) return dims;
  for (const Dim& dim : *dims) {
    const auto v = dim.maybe_value();
    // A size itself is no more than int32 holds.
    if (v ? *v < lowest_integer(to) || *v > highest_integer(to) : to != DType::kInt32)
      return std::nullopt;
  }
  return dims;
}

Result<CastOptions> parse_cast_options(const Node& node) {
  CastOptions options;
  options.saturate = node.attr_int("saturate", 1) != 0;
  options.round_mode = node.attr_string("round_mode", "up");
  if (options.round_mode != "up" && options.round_mode != "down" && options.round_mode != "nearest")
    return error("round_mode is \"{}\"; use up, down or nearest", options.round_mode);
  return options;
}

Result<Tensor> cast(const Tensor& x, DType to, const CastOptions& options) {
  if (is_complex(to) || is_complex(x.type()))
    return error(ErrorCode::kUnsupported, "cast from {} to {}: complex types are not converted",
                 name(x.type()), name(to));
  if (to == x.type()) return x;
  if (x.type() == DType::kString) return from_strings(x, to, options);
  if (to == DType::kString) return to_strings(x);
  if (is_float(x.type())) return from_reals(x, to, options);
  const auto values = OCTET_TRY(integer_values(x));
  if (!is_float(to)) return integer_tensor(to, x.shape(), values);
  if (x.type() == DType::kUint64) {
    std::vector<double> reals;
    reals.reserve(values.size());
    for (int64_t v : values)
      reals.push_back(static_cast<double>(static_cast<uint64_t>(v)));
    return from_reals(Tensor::of<double>(x.shape(), reals), to, options);
  }
  if (bits(to) <= 8) {
    const std::vector<double> reals(values.begin(), values.end());
    return from_reals(Tensor::of<double>(x.shape(), reals), to, options);
  }
  Tensor out = OCTET_TRY(Tensor::zeros(to, x.shape()));
  OCTET_TRY(write_ints(to, values, out.mutable_bytes()));
  return out;
}

} // namespace octet
