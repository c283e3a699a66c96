// SPDX-License-Identifier: Apache-2.0
// Contract: code_functions.h.
#include "runtime/kernels/code_functions.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/numerics/round.h"
#include "runtime/kernels/map_cost.h"

namespace octet::kernels {
namespace {

using numerics::MapInstruction;
using numerics::MapOperand;
using numerics::Program;

/// Below, dequantizing and computing takes no longer than a load for each number.
constexpr double kWorthTableNs = 0.5;

constexpr int kOfConstants = -1, kOfSeveral = -2;

/// The input that each instruction is a function of, where that is one alone and in codes.
std::vector<int> sources(const Program& program, std::span<const MapFormat> formats) {
  std::vector<int> of;
  for (const MapInstruction& each : program.code) {
    int source = kOfConstants;
    for (const MapOperand& operand : each.used()) {
      int from = kOfConstants;
      if (operand.kind == MapOperand::Kind::kInput)
        from = formats[operand.index].coded() ? operand.index : kOfSeveral;
      if (operand.kind == MapOperand::Kind::kResult) from = of[operand.index];
      if (from == kOfConstants || from == source) continue;
      source = source == kOfConstants ? from : kOfSeveral;
    }
    of.push_back(source);
  }
  return of;
}

/// The one result of instructions of the input that others read; nullopt where there are more, or
/// others read the input itself.
std::optional<size_t> root_of(const Program& program, const std::vector<int>& of, int input) {
  std::optional<size_t> root;
  const auto add = [&](size_t i) {
    if (root && *root != i) return false;
    root = i;
    return true;
  };
  for (size_t i = 0; i < program.code.size(); ++i) {
    if (of[i] == input) {
      if (i + 1 == program.code.size() && !add(i)) return std::nullopt;
      continue;
    }
    for (const MapOperand& operand : program.code[i].used()) {
      if (operand.kind == MapOperand::Kind::kInput && operand.index == input) return std::nullopt;
      if (operand.kind == MapOperand::Kind::kResult && of[operand.index] == input &&
          !add(operand.index))
        return std::nullopt;
    }
  }
  return root;
}

/// The program up to the root, on all codes of the input.
std::shared_ptr<const FloatTable>
make_table(const Program& program, size_t root, size_t input, const MapFormat& format) {
  Program part = program;
  part.code.resize(root + 1);
  auto table = std::make_shared<FloatTable>();
  std::array<float, numerics::kMaxMapInputs> x{};
  for (int code = 0; code < 256; ++code) {
    const int32_t value = format.is_signed() && code > 127 ? code - 256 : code;
    x[input] = numerics::dequantize(value, format.scale, format.zero_point);
    table->set(static_cast<uint8_t>(code), part.eval(x));
  }
  return table;
}

/// Without the instructions of the input, whose root's readers read the input.
Program without(const Program& program, const std::vector<int>& of, int input, size_t root) {
  Program out = program;
  out.code.clear();
  if (root + 1 == program.code.size()) return out; // nothing reads what is left
  std::vector<uint8_t> place(program.code.size());
  for (size_t i = 0; i < program.code.size(); ++i) {
    if (of[i] == input) continue;
    MapInstruction each = program.code[i];
    for (MapOperand& operand : each.operands) {
      if (operand.kind != MapOperand::Kind::kResult) continue;
      operand = operand.index == root && of[root] == input
                    ? MapOperand{MapOperand::Kind::kInput, static_cast<uint8_t>(input)}
                    : MapOperand{MapOperand::Kind::kResult, place[operand.index]};
    }
    place[i] = static_cast<uint8_t>(out.code.size());
    out.code.push_back(each);
  }
  return out;
}

} // namespace

TabledProgram
table_codes(numerics::Program program, std::span<const MapFormat> formats, bool whole) {
  TabledProgram out{.program = std::move(program), .tables = {}};
  out.tables.resize(formats.size());
  for (size_t k = 0; k < formats.size(); ++k) {
    if (!formats[k].coded()) continue;
    const int input = static_cast<int>(k);
    const std::vector<int> of = sources(out.program, formats);
    const auto root = root_of(out.program, of, input);
    const bool all = root && *root + 1 == out.program.code.size();
    if (!root || (all && (!whole || formats.size() != 1))) continue;
    double ns = 0.0;
    for (size_t i = 0; i < of.size(); ++i)
      if (of[i] == input) ns += cost_ns(out.program.code[i].op);
    if (ns < kWorthTableNs) continue;
    out.tables[k] = make_table(out.program, *root, k, formats[k]);
    out.program = without(out.program, of, input, *root);
  }
  return out;
}

} // namespace octet::kernels
