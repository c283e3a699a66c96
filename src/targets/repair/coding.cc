// SPDX-License-Identifier: Apache-2.0
#include "targets/repair/coding.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "passes/evaluate.h"
#include "passes/standard_operators.h"

#include "octet/executor.h"

namespace octet {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// How far back a value is followed.
constexpr int kMaxCodingDepth = 16;

Range range_at(const Graph& graph, ValueId value, int depth);

Range of_clip(const Graph& graph, const Node& node, Range in) {
  const auto limit = [&](size_t i, const char* attribute, double otherwise) {
    if (const Tensor* t = graph.constant(node.input(i)); t != nullptr && t->count() == 1)
      return t->at(0);
    if (node.has_attr(attribute))
      return static_cast<double>(node.attr_float(attribute, static_cast<float>(otherwise)));
    return otherwise;
  };
  const double lo = limit(1, "min", -kInfinity), hi = limit(2, "max", kInfinity);
  return {std::min(std::max(in.lo, lo), hi), std::min(std::max(in.hi, lo), hi)};
}

Range of_dequantize(const Graph& graph, const Node& node) {
  const auto coding = coding_of(graph, node);
  const auto range = coding ? code_range(coding->codes) : std::nullopt;
  if (!range) return {-kInfinity, kInfinity};
  Range out{kInfinity, -kInfinity};
  for (size_t c = 0; c < coding->scales.size(); ++c) {
    out.lo = std::min(out.lo, (range->lo - coding->zeros[c]) * coding->scales[c]);
    out.hi = std::max(out.hi, (range->hi - coding->zeros[c]) * coding->scales[c]);
  }
  return out;
}

Range of_node(const Graph& graph, const Node& node, int depth) {
  const Range all{-kInfinity, kInfinity};
  if (is_dequantize(node)) return of_dequantize(graph, node);
  if (!node.domain.empty()) return all;
  const auto in = [&] { return range_at(graph, node.input(0), depth + 1); };
  if (node.op_type == "Relu") return {std::max(in().lo, 0.0), std::max(in().hi, 0.0)};
  if (node.op_type == "Clip") return of_clip(graph, node, in());
  if (node.op_type == "Sigmoid" || node.op_type == "Softmax" || node.op_type == "HardSigmoid")
    return {0, 1};
  if (node.op_type == "Tanh" || node.op_type == "Erf") return {-1, 1};
  if (node.op_type == "Abs" || node.op_type == "Exp" || node.op_type == "Sqrt")
    return {0, kInfinity};
  if (moves_values(node)) return in();
  return all;
}

Range range_at(const Graph& graph, ValueId value, int depth) {
  const Node* node = depth < kMaxCodingDepth && value.valid() ? graph.producer(value) : nullptr;
  return node == nullptr ? Range{-kInfinity, kInfinity} : of_node(graph, *node, depth);
}

Attributes axis_of(const Coding& coding) {
  Attributes attributes;
  if (coding.vector && coding.per_channel()) attributes["axis"].value = coding.axis;
  return attributes;
}

} // namespace

bool is_usable_scale(double scale) {
  return scale > 0 && std::isfinite(scale) && std::isnormal(static_cast<float>(scale));
}

double as_float(double scale) {
  return static_cast<double>(static_cast<float>(scale));
}

std::optional<Coding> raw_coding_of(const Graph& graph, const Node& node) {
  const Tensor* scale = graph.constant(node.input(1));
  const Tensor* zero = graph.constant(node.input(2));
  if (scale == nullptr || zero == nullptr || !is_float(scale->type()) || scale->rank() > 1 ||
      zero->rank() > 1 || scale->count() == 0 || node.attr_int("block_size", 0) != 0)
    return std::nullopt;
  if (zero->count() != scale->count()) return std::nullopt;
  Coding out;
  for (int64_t i = 0; i < scale->count(); ++i) {
    out.scales.push_back(scale->at(i));
    out.zeros.push_back(zero->at(i));
  }
  out.codes = zero->type();
  out.real = scale->type();
  out.vector = scale->rank() == 1;
  out.axis = out.per_channel() ? node.attr_int("axis", 1) : 1;
  return out;
}

std::optional<Coding> coding_of(const Graph& graph, const Node& node) {
  auto out = raw_coding_of(graph, node);
  if (out && !std::all_of(out->scales.begin(), out->scales.end(), is_usable_scale))
    return std::nullopt;
  return out;
}

bool is_symmetric(const Coding& coding) {
  return !code_range(coding.codes) ||
         (coding.codes == DType::kInt8 &&
          std::all_of(coding.zeros.begin(), coding.zeros.end(), [](double z) { return z == 0; }));
}

Coding int8_coding(double scale, DType real) {
  Coding out;
  out.scales = {scale};
  out.zeros = {0};
  out.real = real;
  return out;
}

std::vector<const Node*>
dequantizers(const RepairContext& context, ValueId codes, const Coding& coding) {
  std::vector<const Node*> out;
  if (!codes.valid() || context.graph.is_output(codes)) return {};
  for (const Uses::Use& use : context.uses.of(codes)) {
    const Node& reader = context.graph.node(use.node);
    if (!is_dequantize(reader) || use.input != 0) return {};
    auto theirs = coding_of(context.graph, reader);
    if (!theirs) return {};
    theirs->vector = coding.vector;
    if (*theirs != coding) return {};
    out.push_back(&reader);
  }
  return out;
}

Tensor scale_tensor(const Coding& coding) {
  const Shape shape = coding.vector ? Shape{static_cast<int64_t>(coding.scales.size())} : Shape{};
  return Tensor::from_doubles(coding.real, shape, coding.scales).value();
}

Tensor zero_tensor(const Coding& coding) {
  const Shape shape = coding.vector ? Shape{static_cast<int64_t>(coding.zeros.size())} : Shape{};
  return Tensor::from_doubles(coding.codes, shape, coding.zeros).value();
}

ValueId emit_quantize(Patch& patch, const Coding& coding, ValueId x, const std::string& name) {
  const ValueId scale = patch.constant(name + "_scale", scale_tensor(coding));
  const ValueId zero = patch.constant(name + "_zero_point", zero_tensor(coding));
  return patch.emit("QuantizeLinear", {x, scale, zero}, axis_of(coding), name);
}

ValueId
emit_dequantize(Patch& patch, const Coding& coding, ValueId codes, const std::string& name) {
  const ValueId scale = patch.constant(name + "_scale", scale_tensor(coding));
  const ValueId zero = patch.constant(name + "_zero_point", zero_tensor(coding));
  return patch.emit("DequantizeLinear", {codes, scale, zero}, axis_of(coding), name);
}

ValueId emit_clip(Patch& patch,
                  const Graph& graph,
                  ValueId x,
                  const Bounds& bounds,
                  DType type,
                  std::string name) {
  if (!bounds.lo && !bounds.hi) return x;
  if (bounds.lo && *bounds.lo == 0 && !bounds.hi)
    return patch.emit("Relu", {x}, {}, std::move(name));
  if (graph.opset() < 11) {
    Attributes attributes;
    if (bounds.lo) attributes["min"].value = static_cast<float>(*bounds.lo);
    if (bounds.hi) attributes["max"].value = static_cast<float>(*bounds.hi);
    return patch.emit("Clip", {x}, std::move(attributes), std::move(name));
  }
  const auto limit = [&](const std::optional<double>& value, const char* which) {
    if (!value) return ValueId{};
    return emit_number(patch, name + which, type, *value);
  };
  const ValueId lo = limit(bounds.lo, "_min"), hi = limit(bounds.hi, "_max");
  std::vector<ValueId> inputs = {x, lo};
  if (hi.valid()) inputs.push_back(hi);
  return patch.emit("Clip", std::move(inputs), {}, name);
}

ValueId emit_with_input(Patch& patch, const Node& node, size_t input, ValueId value) {
  patch.from(node);
  std::vector<ValueId> inputs = node.inputs;
  if (inputs.size() <= input) inputs.resize(input + 1);
  inputs[input] = value;
  return patch.emit(node.op_type, std::move(inputs), node.attributes, node.name);
}

ValueId emit_decoded(
    Patch& patch, const Coding& coding, ValueId codes, int64_t rank, const std::string& name) {
  Shape shape;
  if (coding.per_channel()) {
    const int64_t axis = coding.axis < 0 ? coding.axis + rank : coding.axis;
    shape.assign(static_cast<size_t>(rank - axis), 1);
    shape[0] = static_cast<int64_t>(coding.scales.size());
  }
  const auto constant = [&](const std::vector<double>& values, const char* what) {
    const std::span<const double> all = coding.per_channel() ? values : std::span(values).first(1);
    return patch.constant(name + what, Tensor::from_doubles(coding.real, shape, all).value());
  };
  Attributes to;
  to["to"].value = static_cast<int64_t>(coding.real);
  ValueId x = patch.emit("Cast", {codes}, std::move(to), name + "_cast");
  if (std::any_of(coding.zeros.begin(), coding.zeros.end(), [](double z) { return z != 0; }))
    x = patch.emit("Sub", {x, constant(coding.zeros, "_zero")}, {}, name + "_centered");
  return patch.emit("Mul", {x, constant(coding.scales, "_factor")}, {}, name + "_values");
}

ValueId emit_shift(Patch& patch, ValueId x, double number, DType type, const std::string& name) {
  return patch.emit("Add", {x, emit_number(patch, name + "_by", type, number)}, {}, name);
}

Range range_by_operators(const Graph& graph, ValueId value) {
  return range_at(graph, value, 0);
}

bool moves_values(const Node& node) {
  constexpr std::array<std::string_view, 14> kMoves = {
      "Identity", "Transpose", "Reshape", "Flatten",      "Squeeze",      "Unsqueeze", "Slice",
      "Gather",   "MaxPool",   "Expand",  "SpaceToDepth", "DepthToSpace", "Tile",      "Dropout"};
  if (!node.domain.empty() || std::find(kMoves.begin(), kMoves.end(), node.op_type) == kMoves.end())
    return false;
  if (node.op_type == "Dropout") return !node.input(2).valid();
  return node.outputs.size() == 1 || !node.output(1).valid();
}

std::vector<double> constant_numbers(const Graph& graph, ValueId value, const Tensor& rounded) {
  const Node* node = graph.producer(value);
  const auto coding =
      node != nullptr && is_dequantize(*node) ? coding_of(graph, *node) : std::nullopt;
  const auto codes =
      coding && !coding->per_channel() ? constant_value(graph, node->input(0)) : std::nullopt;
  std::vector<double> out;
  out.reserve(static_cast<size_t>(rounded.count()));
  for (int64_t i = 0; i < rounded.count(); ++i)
    out.push_back(codes ? (codes->at(i) - coding->zeros[0]) * coding->scales[0] : rounded.at(i));
  return out;
}

Graph probe_graph(const Coding& coding, const Bounds& bounds, double shift) {
  Graph graph;
  graph.name = "probe";
  graph.opsets[""] = 21;
  TypeInfo type;
  type.type = coding.real;
  const ValueId x = graph.add_input("x", type);
  Patch patch(graph, "", Exactness::kExact);
  ValueId before = emit_clip(patch, graph, x, bounds, coding.real, "clip");
  if (shift != 0) before = emit_shift(patch, before, -shift, coding.real, "before");
  const ValueId codes = emit_quantize(patch, coding, before, "q");
  const ValueId behind = emit_dequantize(patch, coding, codes, shift == 0 ? "y" : "dq");
  if (shift != 0) emit_shift(patch, behind, shift, coding.real, "y");
  if (patch.apply(graph).ok())
    if (const auto y = graph.find_value("y")) graph.mark_output(*y);
  return graph;
}

double largest_difference(const Tensor& a, const Tensor& b) {
  double worst = 0;
  for (int64_t i = 0; i < a.count() && i < b.count(); ++i) {
    const double x = a.at(i), y = b.at(i);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const double d = std::abs(x - y);
    worst = std::isnan(d) ? std::numeric_limits<double>::infinity() : std::max(worst, d);
  }
  return worst;
}

std::optional<double> probe_difference(const Graph& before, const Graph& after, const Tensor& x) {
  const auto was = make_reference_executor(before), is = make_reference_executor(after);
  if (!was.ok() || !is.ok()) return std::nullopt;
  const auto a = (*was)->run(std::vector<Tensor>{x}), b = (*is)->run(std::vector<Tensor>{x});
  if (!a.ok() || !b.ok()) return std::nullopt;
  for (const Tensor& t : {a->front(), b->front()})
    for (int64_t i = 0; i < t.count(); ++i)
      if (!std::isfinite(t.at(i))) return std::nullopt;
  return largest_difference(a->front(), b->front());
}

} // namespace octet
