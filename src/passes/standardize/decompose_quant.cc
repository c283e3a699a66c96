// SPDX-License-Identifier: Apache-2.0
//   Quant(x, scale, zero point, bits)    =>    x ─▶ Clip ─▶ Q ─▶ DQ, constants as codes behind DQ
//                                              x ─▶ Div ─▶ Add ─▶ Clip ─▶ Round ─▶ Sub ─▶ Mul where
//                                              no byte holds the codes, or scales are computed
//   BipolarQuant(x, scale)               =>    Where(x < 0, -scale, scale)
// Brevitas' and QONNX's operators for any number of bits. Exact with a zero point of 0; else ties may
// round the other way. Source: the operators' texts in fastmachinelearning/qonnx, docs/qonnx-custom-ops.
#include <algorithm>
#include <cmath>

#include "ops/evaluate.h"
#include "ops/qdq/clamp.h"
#include "ops/qdq/emit.h"
#include "passes/emit.h"
#include "passes/standardize/standard_operators.h"

namespace octet {

namespace {

constexpr std::string_view kDomains[] = {"onnx.brevitas", "qonnx.custom_op.general",
                                         "finn.custom_op.general"};
constexpr size_t kScale = 1, kZero = 2, kBits = 3;

bool is_of_qonnx(const Node& node, std::string_view op) {
  return node.op_type == op &&
         std::find(std::begin(kDomains), std::end(kDomains), node.domain) != std::end(kDomains);
}

std::string name_for(const Graph& g, const Node& node) {
  return node.name.empty() ? g.value(node.output(0)).name : node.name;
}

/// The codes of a Quant; nullopt where the number of bits is computed or none that floats count to.
std::optional<CodeRange> range_of(const Graph& g, const Node& node) {
  constexpr double kMostBits = 24;
  const auto bits = constant_value(g, node.input(kBits));
  if (!bits || bits->count() != 1) return std::nullopt;
  const double count = bits->at(0);
  if (!(count >= 1 && count <= kMostBits) || count != std::floor(count)) return std::nullopt;
  const bool is_signed = node.attr_int("signed", 1) != 0;
  const int32_t narrow = node.attr_int("narrow", 0) != 0 ? 1 : 0;
  const auto codes = static_cast<int32_t>(std::exp2(count));
  if (is_signed) return CodeRange{-codes / 2 + narrow, codes / 2 - 1};
  return CodeRange{0, codes - 1 - narrow};
}

/// The operator that rounds; empty: ONNX has none.
std::string rounding_of(const Node& node) {
  const std::string mode = node.attr_string("rounding_mode", "ROUND");
  if (mode == "ROUND" || mode == "HALF_EVEN") return "Round";
  if (mode == "CEIL") return "Ceil";
  return mode == "FLOOR" ? "Floor" : "";
}

/// One number that all elements are; nullopt: there are others.
std::optional<double> only_number(const std::optional<Tensor>& t) {
  if (!t || t->count() == 0) return std::nullopt;
  for (int64_t i = 1; i < t->count(); ++i)
    if (t->at(i) != t->at(0)) return std::nullopt;
  return t->at(0);
}

/// Whether an operand of x makes no more of it: Q and DQ keep the shape of x.
bool fits_into(const TypeInfo& x, const Tensor& t) {
  if (t.rank() == 0) return true;
  if (!x.has_rank() || t.rank() > x.rank()) return false;
  for (int64_t k = 0; k < t.rank(); ++k)
    if (t.dim(k) != 1 &&
        (*x.shape)[static_cast<size_t>(x.rank() - t.rank() + k)].maybe_value() != t.dim(k))
      return false;
  return true;
}

/// What bytes hold and one scale for all, or for each index of an axis, stands for.
std::optional<qdq::Grid> grid_of(const Graph& g, const Node& node, CodeRange range) {
  const auto scale = constant_value(g, node.input(kScale));
  const auto zeros = constant_value(g, node.input(kZero));
  const auto zero = only_number(zeros);
  const TypeInfo& x = g.value(node.input(0)).type;
  if (!scale || scale->type() != DType::kFloat32 || scale->count() == 0 || !zero ||
      !fits_into(x, *scale) || !fits_into(x, *zeros))
    return std::nullopt;
  if (*zero != std::floor(*zero) || *zero < range.lo || *zero > range.hi) return std::nullopt;
  const bool is_signed = node.attr_int("signed", 1) != 0;
  if (range.hi > (is_signed ? 127 : 255)) return std::nullopt;
  const DType codes = is_signed ? DType::kInt8 : DType::kUint8;
  if (scale->count() == 1) {
    qdq::Grid grid = qdq::Grid::per_tensor_of(codes, scale->at(0), *zero, DType::kFloat32);
    return grid.is_usable() ? std::optional(std::move(grid)) : std::nullopt;
  }
  qdq::Grid grid;
  for (int64_t k = 0; k < scale->rank(); ++k) {
    if (scale->dim(k) == 1) continue;
    if (grid.axis) return std::nullopt;
    grid.axis = grid.axis_written = x.rank() - scale->rank() + k;
  }
  grid.scale = scale->reshaped({scale->count()}).value();
  grid.codes = codes;
  grid = grid.with(codes, std::vector<double>(static_cast<size_t>(scale->count()), *zero));
  return grid.is_usable() ? std::optional(std::move(grid)) : std::nullopt;
}

/// x / scale + zero point in f32, clipped and rounded.
Tensor codes_of(const Tensor& x, const qdq::Grid& grid, CodeRange range) {
  Tensor out = Tensor::zeros(grid.codes, x.shape()).value();
  const auto to = out.mutable_bytes();
  int64_t inner = 1;
  for (int64_t i = grid.axis.value_or(x.rank() - 1) + 1; i < x.rank(); ++i)
    inner *= x.dim(i);
  for (int64_t i = 0; i < x.count(); ++i) {
    const int64_t channel = grid.per_tensor() ? 0 : i / inner % grid.count();
    const float code = static_cast<float>(x.at(i)) / static_cast<float>(grid.scale_at(channel)) +
                       static_cast<float>(grid.zero_at(channel));
    const float kept = std::isnan(code) ? static_cast<float>(grid.zero_at(channel))
                                        : std::clamp(code, static_cast<float>(range.lo),
                                                     static_cast<float>(range.hi));
    to[static_cast<size_t>(i)] = static_cast<std::byte>(static_cast<int>(std::nearbyint(kept)));
  }
  return out;
}

std::optional<Patch>
with_codes(const RuleContext& c, const Node& node, CodeRange range, const qdq::Grid& grid) {
  if (rounding_of(node) != "Round") return std::nullopt;
  const bool exact = grid.zero_at(0) == 0;
  Patch patch(c.graph, "Quant is Q and DQ", exact ? Exactness::kExact : Exactness::kRounding);
  patch.from(node);
  const std::string name = name_for(c.graph, node);
  ValueId codes;
  if (const auto x = constant_value(c.graph, node.input(0))) {
    codes = patch.constant(name + "/codes", codes_of(*x, grid, range));
  } else {
    if (!grid.per_tensor()) return std::nullopt;
    const CodeRange all = *grid.code_range();
    ValueId from = node.input(0);
    if (range.lo != all.lo || range.hi != all.hi) {
      const qdq::Clamp bounds = qdq::numbers_of(grid, range);
      if (!qdq::are_floats(bounds)) return std::nullopt;
      from =
          emit_clip(patch, c.graph, from, {bounds.lo, bounds.hi}, DType::kFloat32, name + "/clip");
    }
    codes = qdq::emit_quantize(patch, grid, from, name + "/quantize");
  }
  patch.replace(node.output(0), qdq::emit_dequantize(patch, grid, codes, name));
  return patch;
}

std::optional<Patch> with_arithmetic(const RuleContext& c, const Node& node, CodeRange range) {
  constexpr int64_t kRoundSince = 11;
  const std::string rounding = rounding_of(node);
  if (rounding.empty() || c.graph.opset() < kRoundSince) return std::nullopt;
  Patch patch(c.graph, "Quant by arithmetic", Exactness::kExact);
  patch.from(node);
  const std::string name = name_for(c.graph, node);
  const ValueId scale = node.input(kScale), zero = node.input(kZero);
  ValueId x = patch.emit("Div", {node.input(0), scale}, {}, name + "/steps");
  const auto zeros = constant_value(c.graph, zero);
  const bool shifts =
      only_number(zeros).value_or(1) != 0 || !fits_into(c.graph.value(node.input(0)).type, *zeros);
  if (shifts) x = patch.emit("Add", {x, zero}, {}, name + "/shifted");
  x = emit_clip(patch, c.graph, x, {range.lo, range.hi}, DType::kFloat32, name + "/clip");
  x = patch.emit(rounding, {x}, {}, name + "/codes");
  if (shifts) x = patch.emit("Sub", {x, zero}, {}, name + "/centered");
  patch.replace(node.output(0), patch.emit("Mul", {x, scale}, {}, name));
  return patch;
}

bool is_float32(const Graph& g, const Node& node) {
  return g.value(node.input(0)).type.type == DType::kFloat32 && node.output(0).valid();
}

} // namespace

std::optional<Patch> decompose_quant_to_codes(const RuleContext& context, const Node& node) {
  if (!is_of_qonnx(node, "Quant") || !is_float32(context.graph, node)) return std::nullopt;
  const auto range = range_of(context.graph, node);
  const auto grid = range ? grid_of(context.graph, node, *range) : std::nullopt;
  return grid ? with_codes(context, node, *range, *grid) : std::nullopt;
}

std::optional<Patch> decompose_quant(const RuleContext& context, const Node& node) {
  constexpr int64_t kQuantizeSince = 10, kAxisSince = 13;
  if (!is_of_qonnx(node, "Quant") || !is_float32(context.graph, node)) return std::nullopt;
  const auto range = range_of(context.graph, node);
  if (!range) return std::nullopt;
  const int64_t opset = context.graph.opset();
  const auto grid = grid_of(context.graph, node, *range);
  if (grid && opset >= (grid->per_tensor() ? kQuantizeSince : kAxisSince))
    if (auto patch = with_codes(context, node, *range, *grid)) return patch;
  return with_arithmetic(context, node, *range);
}

std::optional<Patch> decompose_bipolar_quant(const RuleContext& context, const Node& node) {
  constexpr int64_t kWhereSince = 9;
  if (!is_of_qonnx(node, "BipolarQuant") || !is_float32(context.graph, node) ||
      context.graph.opset() < kWhereSince)
    return std::nullopt;
  Patch patch(context.graph, "BipolarQuant is a choice", Exactness::kExact);
  patch.from(node);
  const std::string name = name_for(context.graph, node);
  const ValueId zero = emit_number(patch, name + "/zero", DType::kFloat32, 0);
  const ValueId below = patch.emit("Less", {node.input(0), zero}, {}, name + "/below");
  const ValueId lower = patch.emit("Neg", {node.input(kScale)}, {}, name + "/lower");
  patch.replace(node.output(0), patch.emit("Where", {below, lower, node.input(kScale)}, {}, name));
  return patch;
}

} // namespace octet
