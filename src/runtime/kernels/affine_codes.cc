// SPDX-License-Identifier: Apache-2.0
// Lines between codes: their search, chunks and scalar form.
#include "runtime/kernels/affine_codes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/for_isa.h"
#include "core/numerics/round.h"
#include "core/threads.h"
#include "runtime/kernels/codes.h"

namespace octet::kernels {
namespace {

using numerics::MapInstruction;
using numerics::MapOp;
using numerics::MapOperand;

constexpr double kElementNs = 0.08;
constexpr int64_t kCodes = 256;
constexpr int64_t kVector = 16;
constexpr int64_t kLongPeriod = 512;

uint8_t code_of(const AffineCodes& a, int32_t code, float factor, float offset) {
  const float r = std::fma(static_cast<float>(code), factor, offset);
  return static_cast<uint8_t>(numerics::round_saturate(r, a.zero_point, a.lo, a.hi));
}

/// slope * code + value; a constant has no slope.
struct Line {
  double slope = 0, value = 0;
};

/// nullopt: not a line, for all that is known here.
std::optional<Line> apply_to_lines(MapOp op, const Line& a, const Line& b, const Line& c) {
  const auto times = [](const Line& l, const Line& r) -> std::optional<Line> {
    if (l.slope != 0 && r.slope != 0) return std::nullopt;
    return Line{l.slope * r.value + r.slope * l.value, l.value * r.value};
  };
  switch (op) {
  case MapOp::kNeg:
    return Line{-a.slope, -a.value};
  case MapOp::kAdd:
    return Line{a.slope + b.slope, a.value + b.value};
  case MapOp::kSub:
    return Line{a.slope - b.slope, a.value - b.value};
  case MapOp::kMul:
    return times(a, b);
  case MapOp::kDiv:
    return b.slope == 0 ? std::optional(Line{a.slope / b.value, a.value / b.value}) : std::nullopt;
  case MapOp::kFma: {
    const auto product = times(a, b);
    if (!product) return std::nullopt;
    return Line{product->slope + c.slope, product->value + c.value};
  }
  default:
    return std::nullopt;
  }
}

/// Whether an instruction bounds the result of those before it by numbers.
bool bounds(const numerics::Program& program, size_t i) {
  const MapInstruction& each = program.code[i];
  if (i + 1 != program.code.size() || (each.op != MapOp::kRelu && each.op != MapOp::kClamp))
    return false;
  return std::all_of(each.used().begin() + 1, each.used().end(), [](const MapOperand& operand) {
    return operand.kind == MapOperand::Kind::kConstant;
  });
}

/// The program without its bound at the end, in exact arithmetic, for one channel.
std::optional<Line> line_of(const ChannelProgram& made, size_t channel) {
  const numerics::Program& program = *made.program;
  std::vector<Line> results;
  const auto operand_line = [&](const MapOperand& operand) -> Line {
    if (operand.kind == MapOperand::Kind::kResult) return results[operand.index];
    if (operand.kind == MapOperand::Kind::kConstant)
      return {0, double{program.constants[operand.index]}};
    if (operand.index == 0)
      return {double{made.x.scale}, -double{made.x.scale} * made.x.zero_point};
    const std::vector<float>& numbers = made.others[operand.index - 1U];
    return {0, double{numbers[numbers.size() == 1 ? 0 : channel]}};
  };
  results.reserve(program.code.size());
  for (size_t i = 0; i < program.code.size(); ++i) {
    const MapInstruction& each = program.code[i];
    std::array<Line, 3> lines{};
    for (size_t k = 0; k < each.used().size(); ++k)
      lines[k] = operand_line(each.operands[k]);
    const auto line = bounds(program, i) ? std::optional(lines[0])
                                         : apply_to_lines(each.op, lines[0], lines[1], lines[2]);
    if (!line || !std::isfinite(line->slope) || !std::isfinite(line->value)) return std::nullopt;
    results.push_back(*line);
  }
  return results.back();
}

/// Bounds of the codes that the last instruction says.
void clamp_to_program(const ChannelProgram& made, AffineCodes& affine) {
  const numerics::Program& program = *made.program;
  if (!bounds(program, program.code.size() - 1)) return;
  const MapInstruction& last = program.code.back();
  const auto code = [&](float bound) {
    return numerics::quantize(bound, made.y.scale, made.y.zero_point, made.y.lo, made.y.hi);
  };
  if (last.op == MapOp::kRelu) {
    affine.lo = code(0.0F);
    return;
  }
  const int32_t most = code(program.constants[last.operands[2].index]);
  affine.lo = std::min(code(program.constants[last.operands[1].index]), most);
  affine.hi = most;
}

/// The program's codes: channels of each of the 256 codes of x.
std::vector<uint8_t> codes_of_program(const ChannelProgram& made, Isa isa) {
  std::vector<uint8_t> x(static_cast<size_t>(kCodes));
  std::iota(x.begin(), x.end(), uint8_t{0});
  std::vector<std::vector<int64_t>> shapes = {{kCodes, 1}};
  std::vector<const void*> places = {x.data()};
  std::vector<MapFormat> formats = {made.x};
  for (const std::vector<float>& numbers : made.others) {
    shapes.push_back({static_cast<int64_t>(numbers.size())});
    places.push_back(numbers.data());
    formats.emplace_back();
  }
  const std::vector<int64_t> shape = {kCodes, made.channels};
  const MapPlan plan(*made.program, shapes, shape, std::move(formats), made.y);
  std::vector<uint8_t> y(static_cast<size_t>(kCodes * made.channels));
  SerialFor serial;
  plan.run(places, y.data(), isa, serial);
  return y;
}

/// Rounding may put a number on the other side of a tie than the program's: offsets move by a few
/// units in the last place until all codes of the channel are the program's.
bool mend_offset(AffineCodes& affine, size_t channel, const std::vector<uint8_t>& codes) {
  const size_t channels = affine.factor.size();
  const float factor = affine.factor[channel];
  const float offset = affine.offset[channel];
  const float unit = std::max(std::fabs(offset), 128 * std::fabs(factor)) * 0x1p-23F;
  const auto fits = [&](float moved) {
    for (size_t i = 0; i < static_cast<size_t>(kCodes); ++i) {
      const int32_t code = affine.x_signed ? int32_t{static_cast<int8_t>(i)} : static_cast<int>(i);
      if (code_of(affine, code, factor, moved) != codes[i * channels + channel]) return false;
    }
    return true;
  };
  constexpr int kTries = 8;
  for (int i = 1; i <= kTries; ++i)
    for (const int sign : {1, -1}) {
      const float moved = offset + static_cast<float>(sign * i) * unit;
      if (!fits(moved)) continue;
      affine.offset[channel] = moved;
      return true;
    }
  return false;
}

/// Makes each channel's codes those of the program.
bool meets_program(AffineCodes& affine, const std::vector<uint8_t>& codes, Isa isa) {
  const size_t channels = affine.factor.size();
  std::vector<uint8_t> x(codes.size()), y(codes.size());
  for (size_t i = 0; i < static_cast<size_t>(kCodes); ++i)
    std::fill_n(x.begin() + static_cast<ptrdiff_t>(i * channels), channels,
                static_cast<uint8_t>(i));
  SerialFor serial;
  affine_codes(affine, x.data(), static_cast<int64_t>(x.size()), y.data(), isa, serial);
  std::vector<bool> differs(channels, false);
  for (size_t i = 0; i < codes.size(); ++i)
    if (y[i] != codes[i]) differs[i % channels] = true;
  for (size_t c = 0; c < channels; ++c)
    if (differs[c] && !mend_offset(affine, c, codes)) return false;
  return true;
}

std::vector<float> repeated(const std::vector<float>& numbers, size_t times) {
  std::vector<float> out;
  out.reserve(numbers.size() * times);
  for (size_t i = 0; i < times; ++i)
    out.insert(out.end(), numbers.begin(), numbers.end());
  return out;
}

} // namespace

void affine_codes_scalar(const AffineCall& call, int64_t begin, int64_t end) {
  const AffineCodes& a = *call.affine;
  const auto period = static_cast<int64_t>(a.factor.size());
  for (int64_t i = begin; i < end; ++i) {
    const auto channel = static_cast<size_t>(i % period);
    static_cast<uint8_t*>(call.y)[i] =
        code_of(a, code_at(call.x, a.x_signed, i), a.factor[channel], a.offset[channel]);
  }
}

void affine_codes(const AffineCodes& affine,
                  const void* x,
                  int64_t count,
                  void* y,
                  Isa isa,
                  ParallelFor& parallel) {
  const auto run = for_isa<affine_codes_scalar, Isa::kAvx2, affine_codes_avx2, Isa::kAvx512,
                           affine_codes_avx512>(isa);
  const AffineCall call{.affine = &affine, .x = x, .y = y};
  const auto period = static_cast<int64_t>(affine.factor.size());
  parallel.run((count + period - 1) / period, grain_for(kElementNs * static_cast<double>(period)),
               [&](int64_t begin, int64_t end) {
                 run(call, begin * period, std::min(end * period, count));
               });
}

std::optional<AffineCodes> find_affine(const ChannelProgram& made, Isa isa) {
  AffineCodes affine;
  affine.x_signed = made.x.type == MapFormat::Type::kInt8;
  affine.y_signed = made.y.type == MapFormat::Type::kInt8;
  affine.zero_point = made.y.zero_point;
  affine.lo = made.y.lo;
  affine.hi = made.y.hi;
  const auto channels = static_cast<size_t>(made.channels);
  if (channels == 0 || !line_of(made, 0)) return std::nullopt;
  affine.factor.reserve(channels);
  affine.offset.reserve(channels);
  clamp_to_program(made, affine);
  for (size_t c = 0; c < channels; ++c) {
    const auto line = line_of(made, c);
    if (!line) return std::nullopt;
    const double scale = double{made.y.scale};
    const auto factor = static_cast<float>(line->slope / scale);
    const auto offset = static_cast<float>(line->value / scale);
    // What the kernel rounds to integers before it is bounded.
    if (!(std::max(std::fabs(offset), 128 * std::fabs(factor)) <= 0x1p20F)) return std::nullopt;
    affine.factor.push_back(factor);
    affine.offset.push_back(offset);
  }
  if (!meets_program(affine, codes_of_program(made, isa), isa)) return std::nullopt;
  const auto whole = static_cast<size_t>(std::lcm(made.channels, kVector));
  const size_t times = whole <= static_cast<size_t>(kLongPeriod) ? whole / channels : 1;
  affine.factor = repeated(affine.factor, times);
  affine.offset = repeated(affine.offset, times);
  return affine;
}

} // namespace octet::kernels
