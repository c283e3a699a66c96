// SPDX-License-Identifier: Apache-2.0
// A program computes one float from up to six: straight-line, each instruction one function of
// core/numerics whose result is rounded. It is what octet.native Map does to every element
// (docs/native-operators.md); evaluating it number by number is the specification.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "octet/result.h"

namespace octet::numerics {

/// Functions of one to three operands a, b, c. The names that programs are written with are these
/// in snake case (op_name).
enum class MapOp : uint8_t {
  kNeg,
  kAbs,
  kSign, ///< of NaN and zeros: themselves
  kSqrt,
  kReciprocal,
  kFloor,
  kCeil,
  kRound, ///< half to even
  kRelu,  ///< keeps NaN and the sign of a zero
  kExp,
  kExpm1,
  kLog,
  kSin,
  kCos,
  kErf,
  kTanh,
  kSigmoid,
  kSilu, ///< a * sigmoid(a)
  kSoftplus,
  kMish,
  kGelu,
  kGeluTanh,
  kHardSwish, ///< a * min(max(fma(a, 1/6, 0.5), 0), 1)
  kCube,      ///< in double, rounded once
  kHalfPower, ///< a^0.5 as pow: 0 of -0, infinity of -infinity
  kRoundF16,  ///< the nearest f16
  kRoundBf16,
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMin, ///< NaN if either is; b of equal ones
  kMax,
  kLess, ///< 1 where a < b, else 0
  kLessEqual,
  kEqual,
  kLeakyRelu, ///< a < 0 ? a * b : a
  kElu,       ///< a < 0 ? b * expm1(a) : a
  kFma,       ///< a * b + c, rounded once
  kClamp,     ///< a, but b where that is less and then c where that is more; NaN stays
  kSelect,    ///< a is not 0 ? b : c
  kCount
};

std::string_view op_name(MapOp op);
int operand_count(MapOp op);
/// The function; operands past its count are not looked at.
float apply(MapOp op, float a, float b, float c);

struct MapOperand {
  enum class Kind : uint8_t { kInput, kConstant, kResult };
  Kind kind = Kind::kInput;
  uint8_t index = 0; ///< of the input, constant or instruction
  bool operator==(const MapOperand&) const = default;
};

struct MapInstruction {
  MapOp op = MapOp::kAdd;
  MapOperand operands[3] = {};
  std::span<const MapOperand> used() const {
    return {operands, static_cast<size_t>(operand_count(op))};
  }
};

inline constexpr size_t kMaxMapInputs = 6;
inline constexpr size_t kMaxMapConstants = 24;
inline constexpr size_t kMaxMapInstructions = 24;

struct Program {
  size_t inputs = 1;
  std::vector<float> constants;
  std::vector<MapInstruction> code; ///< the last one's result is the program's

  /// For one number of each input.
  float eval(std::span<const float> x) const;
};

/// `add x0 c1; relu t0`: instructions with their operands, the k-th input (x), constant (c) or
/// result of an earlier instruction (t). Errors name what does not fit: an unknown function, a
/// wrong number of operands, one that there is not, more than the limits above.
Result<Program>
parse_program(std::string_view text, std::span<const float> constants, size_t inputs);
std::string program_text(const Program& program);

} // namespace octet::numerics
