// SPDX-License-Identifier: Apache-2.0
#include "core/numerics/program.h"

#include <array>
#include <cmath>

#include "core/format.h"
#include "core/numerics/math.h"
#include "core/numerics/round.h"
#include "core/numerics/trig.h"
#include "core/string_util.h"

namespace octet::numerics {
namespace {

struct OpFacts {
  MapOp op;
  std::string_view name;
  int operands;
};

/// In the order of MapOp.
constexpr OpFacts kOps[] = {
    {MapOp::kNeg, "neg", 1},
    {MapOp::kAbs, "abs", 1},
    {MapOp::kSign, "sign", 1},
    {MapOp::kSqrt, "sqrt", 1},
    {MapOp::kReciprocal, "reciprocal", 1},
    {MapOp::kFloor, "floor", 1},
    {MapOp::kCeil, "ceil", 1},
    {MapOp::kRound, "round", 1},
    {MapOp::kRelu, "relu", 1},
    {MapOp::kExp, "exp", 1},
    {MapOp::kExpm1, "expm1", 1},
    {MapOp::kLog, "log", 1},
    {MapOp::kSin, "sin", 1},
    {MapOp::kCos, "cos", 1},
    {MapOp::kErf, "erf", 1},
    {MapOp::kTanh, "tanh", 1},
    {MapOp::kSigmoid, "sigmoid", 1},
    {MapOp::kSilu, "silu", 1},
    {MapOp::kSoftplus, "softplus", 1},
    {MapOp::kMish, "mish", 1},
    {MapOp::kGelu, "gelu", 1},
    {MapOp::kGeluTanh, "gelu_tanh", 1},
    {MapOp::kHardSwish, "hard_swish", 1},
    {MapOp::kCube, "cube", 1},
    {MapOp::kHalfPower, "half_power", 1},
    {MapOp::kRoundF16, "round_f16", 1},
    {MapOp::kRoundBf16, "round_bf16", 1},
    {MapOp::kAdd, "add", 2},
    {MapOp::kSub, "sub", 2},
    {MapOp::kMul, "mul", 2},
    {MapOp::kDiv, "div", 2},
    {MapOp::kMin, "min", 2},
    {MapOp::kMax, "max", 2},
    {MapOp::kLess, "less", 2},
    {MapOp::kLessEqual, "less_equal", 2},
    {MapOp::kEqual, "equal", 2},
    {MapOp::kLeakyRelu, "leaky_relu", 2},
    {MapOp::kElu, "elu", 2},
    {MapOp::kFma, "fma", 3},
    {MapOp::kClamp, "clamp", 3},
    {MapOp::kSelect, "select", 3},
};

constexpr bool in_order() {
  for (size_t i = 0; i < std::size(kOps); ++i)
    if (kOps[i].op != static_cast<MapOp>(i)) return false;
  return std::size(kOps) == static_cast<size_t>(MapOp::kCount);
}
static_assert(in_order());

const OpFacts& facts(MapOp op) {
  return kOps[static_cast<size_t>(op)];
}

Result<MapOp> op_of(std::string_view name) {
  for (const OpFacts& each : kOps)
    if (each.name == name) return each.op;
  std::vector<std::string> names;
  for (const OpFacts& each : kOps)
    names.emplace_back(each.name);
  return Error(fmt::format("no function \"{}\"{}", name.substr(0, 40), suggestion(name, names)));
}

/// The number behind the letter; nullopt for what is none, or far above every limit.
std::optional<size_t> index_of(std::string_view word) {
  const std::string_view digits = word.substr(1);
  if (digits.empty() || digits.size() > 3) return std::nullopt;
  size_t value = 0;
  for (const char digit : digits) {
    if (digit < '0' || digit > '9') return std::nullopt;
    value = value * 10 + static_cast<size_t>(digit - '0');
  }
  return value;
}

Result<MapOperand> operand_of(std::string_view word, const Program& program) {
  const auto index = index_of(word);
  const auto made = [&](MapOperand::Kind kind, size_t count,
                        std::string_view what) -> Result<MapOperand> {
    if (*index < count) return MapOperand{kind, static_cast<uint8_t>(*index)};
    return error("operand \"{}\", but there are {} {}", word, count, what);
  };
  if (index && word[0] == 'x') return made(MapOperand::Kind::kInput, program.inputs, "inputs");
  if (index && word[0] == 'c')
    return made(MapOperand::Kind::kConstant, program.constants.size(), "constants");
  if (index && word[0] == 't')
    return made(MapOperand::Kind::kResult, program.code.size(), "results before it");
  return error("operand \"{}\"; write x0 for an input, c0 for a constant, t0 for a result",
               word.substr(0, 40));
}

Result<MapInstruction> instruction_of(std::string_view text, const Program& program) {
  std::vector<std::string_view> words;
  for (const std::string_view word : split(text, ' '))
    if (!word.empty()) words.push_back(word);
  if (words.empty()) return Error("it is empty; write a function and its operands");
  MapInstruction made{.op = OCTET_TRY(op_of(words[0]))};
  const int count = operand_count(made.op);
  if (words.size() != static_cast<size_t>(count) + 1)
    return error("\"{}\" has {} operands; {} takes {}", text.substr(0, 40), words.size() - 1,
                 words[0], count);
  for (size_t i = 1; i < words.size(); ++i)
    made.operands[i - 1] = OCTET_TRY(operand_of(words[i], program));
  return made;
}

std::string operand_text(const MapOperand& operand) {
  constexpr char kLetters[] = {'x', 'c', 't'};
  return fmt::format("{}{}", kLetters[static_cast<size_t>(operand.kind)], operand.index);
}

float sign(float a) {
  return a != a || a == 0.0F ? a : std::copysign(1.0F, a);
}

float half_power(float a) {
  return std::isinf(a) ? std::fabs(a) : std::sqrt(a + 0.0F);
}

float cube(float a) {
  const auto d = static_cast<double>(a);
  return static_cast<float>(d * d * d);
}

} // namespace

std::string_view op_name(MapOp op) {
  return facts(op).name;
}

int operand_count(MapOp op) {
  return facts(op).operands;
}

namespace {

/// Of the functions of one operand.
float apply_to_one(MapOp op, float a) {
  switch (op) {
  case MapOp::kNeg:
    return -a;
  case MapOp::kAbs:
    return std::fabs(a);
  case MapOp::kSign:
    return sign(a);
  case MapOp::kSqrt:
    return std::sqrt(a);
  case MapOp::kReciprocal:
    return 1.0F / a;
  case MapOp::kFloor:
    return std::floor(a);
  case MapOp::kCeil:
    return std::ceil(a);
  case MapOp::kRound:
    return std::nearbyint(a);
  case MapOp::kRelu:
    return relu(a);
  case MapOp::kExp:
    return exp(a);
  case MapOp::kExpm1:
    return expm1(a);
  case MapOp::kLog:
    return log(a);
  case MapOp::kSin:
    return sin(a);
  case MapOp::kCos:
    return cos(a);
  case MapOp::kErf:
    return erf(a);
  case MapOp::kTanh:
    return tanh(a);
  case MapOp::kSigmoid:
    return sigmoid(a);
  case MapOp::kSilu:
    return silu(a);
  case MapOp::kSoftplus:
    return softplus(a);
  case MapOp::kMish:
    return mish(a);
  case MapOp::kGelu:
    return gelu(a);
  case MapOp::kGeluTanh:
    return gelu_tanh(a);
  case MapOp::kHardSwish:
    return hard_swish(a);
  case MapOp::kCube:
    return cube(a);
  case MapOp::kHalfPower:
    return half_power(a);
  case MapOp::kRoundF16:
    return round_to_f16(a);
  case MapOp::kRoundBf16:
    return round_to_bf16(a);
  default:
    return a;
  }
}

} // namespace

float apply(MapOp op, float a, float b, float c) {
  switch (op) {
  case MapOp::kAdd:
    return a + b;
  case MapOp::kSub:
    return a - b;
  case MapOp::kMul:
    return a * b;
  case MapOp::kDiv:
    return a / b;
  case MapOp::kMin:
    return a != a || a < b ? a : b;
  case MapOp::kMax:
    return a != a || a > b ? a : b;
  case MapOp::kLess:
    return a < b ? 1.0F : 0.0F;
  case MapOp::kLessEqual:
    return a <= b ? 1.0F : 0.0F;
  case MapOp::kEqual:
    return a == b ? 1.0F : 0.0F;
  case MapOp::kLeakyRelu:
    return a < 0.0F ? a * b : a;
  case MapOp::kElu:
    return a < 0.0F ? b * expm1(a) : a;
  case MapOp::kFma:
    return std::fma(a, b, c);
  case MapOp::kClamp:
    return clamp_keep_nan(a, b, c);
  case MapOp::kSelect:
    return a != 0.0F ? b : c;
  default:
    return apply_to_one(op, a);
  }
}

float Program::eval(std::span<const float> x) const {
  std::array<float, kMaxMapInstructions> results{};
  const auto value = [&](const MapOperand& operand) {
    if (operand.kind == MapOperand::Kind::kInput) return x[operand.index];
    if (operand.kind == MapOperand::Kind::kConstant) return constants[operand.index];
    return results[operand.index];
  };
  for (size_t i = 0; i < code.size(); ++i) {
    float operands[3] = {};
    for (size_t k = 0; k < code[i].used().size(); ++k)
      operands[k] = value(code[i].operands[k]);
    results[i] = apply(code[i].op, operands[0], operands[1], operands[2]);
  }
  return results[code.size() - 1];
}

Result<Program>
parse_program(std::string_view text, std::span<const float> constants, size_t inputs) {
  if (inputs > kMaxMapInputs)
    return error("{} inputs; a program takes up to {}", inputs, kMaxMapInputs);
  if (constants.size() > kMaxMapConstants)
    return error("{} constants; a program has up to {}", constants.size(), kMaxMapConstants);
  Program program{.inputs = inputs, .constants = {constants.begin(), constants.end()}, .code = {}};
  const std::vector<std::string_view> parts = split(text, ';');
  if (parts.size() > kMaxMapInstructions)
    return error("{} instructions; a program has up to {}", parts.size(), kMaxMapInstructions);
  for (const std::string_view part : parts)
    program.code.push_back(OCTET_TRY_WITH(instruction_of(part, program),
                                          fmt::format("instruction {}", program.code.size())));
  return program;
}

std::string program_text(const Program& program) {
  std::string text;
  for (const MapInstruction& each : program.code) {
    if (!text.empty()) text += "; ";
    text += op_name(each.op);
    for (const MapOperand& operand : each.used())
      text += " " + operand_text(operand);
  }
  return text;
}

} // namespace octet::numerics
