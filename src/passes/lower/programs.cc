// SPDX-License-Identifier: Apache-2.0
// One function an operator, which writes its program.
#include "passes/lower/programs.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "graph/domains.h"
#include "ops/native/map.h"
#include "passes/match.h"

namespace octet::lowering {
namespace {

using numerics::MapInstruction;
using numerics::MapOp;
using numerics::MapOperand;
using numerics::Program;
using Kind = MapOperand::Kind;

constexpr float kUnbounded = std::numeric_limits<float>::infinity();

/// The constant of a program with these bits, which it gets if it has none.
MapOperand constant_of(Program& program, float value) {
  auto& all = program.constants;
  size_t at = 0;
  while (at < all.size() && std::bit_cast<uint32_t>(all[at]) != std::bit_cast<uint32_t>(value))
    ++at;
  if (at == all.size()) all.push_back(value);
  return {Kind::kConstant, static_cast<uint8_t>(at)};
}

/// Writes the program of a node. What exceeds the limits is found at the end.
class Writer {
 public:
  Writer(const Graph& graph, const Node& node) : graph_(graph), node_(node) {
    out_.program.inputs = 0;
    for (const ValueId id : node.inputs)
      if (const Tensor* t = graph.constant(id); id.valid() && (t == nullptr || t->count() != 1))
        rank_ = std::max(rank_, graph.value(id).type.has_rank() ? graph.value(id).type.rank() : 0);
  }

  const Graph& graph() const { return graph_; }
  const Node& node() const { return node_; }
  float attr(const char* key, float otherwise) const { return node_.attr_float(key, otherwise); }

  MapOperand input(size_t i) {
    const ValueId id = node_.input(i);
    const Tensor* t = graph_.constant(id);
    // One of a higher rank than the others gives the result its rank.
    if (t != nullptr && t->count() == 1 && t->type() == DType::kFloat32 && t->rank() <= rank_)
      return constant(static_cast<float>(t->at(0))); // it may lie anywhere
    for (size_t k = 0; k < out_.inputs.size(); ++k)
      if (out_.inputs[k].id == id) return {Kind::kInput, static_cast<uint8_t>(k)};
    return add({id, std::nullopt});
  }
  MapOperand made(Tensor tensor) { return add({{}, std::move(tensor)}); }
  MapOperand constant(float value) { return constant_of(out_.program, value); }
  MapOperand op(MapOp f, MapOperand a, MapOperand b = {}, MapOperand c = {}) {
    MapInstruction made{.op = f};
    made.operands[0] = a;
    if (numerics::operand_count(f) > 1) made.operands[1] = b;
    if (numerics::operand_count(f) > 2) made.operands[2] = c;
    out_.program.code.push_back(made);
    return {Kind::kResult, static_cast<uint8_t>(out_.program.code.size() - 1)};
  }
  std::optional<Mapped> finish() {
    const Program& p = out_.program;
    if (p.code.empty() || p.inputs == 0 || p.inputs > numerics::kMaxMapInputs ||
        p.constants.size() > numerics::kMaxMapConstants ||
        p.code.size() > numerics::kMaxMapInstructions)
      return std::nullopt;
    return std::move(out_);
  }

 private:
  MapOperand add(Mapped::Input input) {
    out_.inputs.push_back(std::move(input));
    return {Kind::kInput, static_cast<uint8_t>(out_.program.inputs++)};
  }

  const Graph& graph_;
  const Node& node_;
  int64_t rank_ = 0; ///< of the operands that are no numbers
  Mapped out_;
};

using WriteFn = bool(Writer&);

template <MapOp kOp>
bool unary(Writer& w) {
  w.op(kOp, w.input(0));
  return true;
}

/// Two operands; of more, ((a f b) f c) where f picks one of them.
template <MapOp kOp>
bool fold(Writer& w) {
  constexpr bool kPicks = kOp == MapOp::kMin || kOp == MapOp::kMax;
  const size_t count = w.node().inputs.size();
  if (count < 2 || count > (kPicks ? numerics::kMaxMapInputs : 2)) return false;
  MapOperand y = w.input(0);
  for (size_t i = 1; i < count; ++i)
    y = w.op(kOp, y, w.input(i));
  return true;
}

/// Exponents whose bits are those of the C library's power in double, rounded once, if that gives
/// what a double can hold exactly and is off by less than 4 ulp elsewhere. A double holds the
/// square of a float exactly. Where it does not hold the root, the reciprocal or the cube, these are
/// more than 4 ulp of it away from where their rounding to float changes: sqrt(x) = m or 1/x = m has
/// no solution with m in the middle between two floats, and x - m^2 or 1 - mx is no less than a unit
/// of its last place; for cubes all significands were tried (12.5).
bool pow(Writer& w) {
  const Tensor* exponent = w.graph().constant(w.node().input(1));
  if (exponent == nullptr || exponent->count() != 1 ||
      exponent->rank() > (w.graph().value(w.node().input(0)).type.has_rank()
                              ? w.graph().value(w.node().input(0)).type.rank()
                              : 0))
    return false;
  const double e = exponent->at(0);
  const MapOperand x = w.input(0);
  if (e == 2) w.op(MapOp::kMul, x, x);
  if (e == 3) w.op(MapOp::kCube, x);
  if (e == 0.5) w.op(MapOp::kHalfPower, x);
  if (e == -1) w.op(MapOp::kReciprocal, x);
  return e == 2 || e == 3 || e == 0.5 || e == -1;
}

/// A bound of Clip, if it is one number whatever its rank.
std::optional<MapOperand> bound(Writer& w, size_t i, const char* attribute, float absent) {
  if (w.graph().opset() < 11) return w.constant(w.attr(attribute, absent));
  const ValueId id = w.node().input(i);
  if (!id.valid()) return w.constant(absent);
  const Tensor* t = w.graph().constant(id);
  if (t != nullptr && t->count() == 1) return w.constant(static_cast<float>(t->at(0)));
  const TypeInfo& x = w.graph().value(w.node().input(0)).type;
  const auto shape = w.graph().value(id).type.static_shape();
  const bool fits = shape && (shape->empty() || (x.has_rank() && x.rank() >= std::ssize(*shape)));
  if (!fits || std::any_of(shape->begin(), shape->end(), [](int64_t d) { return d != 1; }))
    return std::nullopt;
  return w.input(i);
}

bool clip(Writer& w) {
  const MapOperand x = w.input(0);
  const auto low = bound(w, 1, "min", -kUnbounded), high = bound(w, 2, "max", kUnbounded);
  if (low && high) w.op(MapOp::kClamp, x, *low, *high);
  return low && high;
}

bool gelu(Writer& w) {
  const std::string form = w.node().attr_string("approximate", "none");
  if (form != "none" && form != "tanh") return false;
  w.op(form == "tanh" ? MapOp::kGeluTanh : MapOp::kGelu, w.input(0));
  return true;
}

bool round_half(Writer& w) {
  const auto to = static_cast<DType>(w.node().attr_int("to", 0));
  w.op(to == DType::kFloat16 ? MapOp::kRoundF16 : MapOp::kRoundBf16, w.input(0));
  return to == DType::kFloat16 || to == DType::kBfloat16;
}

bool fake_quantized(Writer& w) {
  const MapOperand x = w.input(0), scale = w.constant(w.attr("scale", 1));
  const auto bound = [&](const char* key) {
    return w.constant(static_cast<float>(w.node().attr_int(key, 0)));
  };
  const MapOperand steps = w.op(MapOp::kRound, w.op(MapOp::kDiv, x, scale));
  const MapOperand kept = w.op(MapOp::kClamp, steps, bound("lo"), bound("hi"));
  const MapOperand zero = w.constant(0.0F); // added, it makes a negative zero positive
  const MapOperand number = w.op(MapOp::kFma, kept, scale, zero);
  w.op(MapOp::kSelect, w.op(MapOp::kEqual, x, x), number, zero);
  return true;
}

bool leaky_relu(Writer& w) {
  w.op(MapOp::kLeakyRelu, w.input(0), w.constant(w.attr("alpha", 0.01F)));
  return true;
}

/// The slope broadcasts to x, which inference has checked where both are known.
bool prelu(Writer& w) {
  const TypeInfo& x = w.graph().value(w.node().input(0)).type;
  const TypeInfo& slope = w.graph().value(w.node().input(1)).type;
  if (!x.has_rank() || !slope.has_rank() || slope.rank() > x.rank()) return false;
  for (int64_t i = 1; i <= slope.rank(); ++i) {
    const Dim& mine = (*slope.shape)[static_cast<size_t>(slope.rank() - i)];
    if (mine != Dim(1) && mine != (*x.shape)[static_cast<size_t>(x.rank() - i)]) return false;
  }
  const MapOperand a = w.input(0);
  w.op(MapOp::kLeakyRelu, a, w.input(1));
  return true;
}

bool hard_sigmoid(Writer& w) {
  const MapOperand sum = w.op(MapOp::kFma, w.input(0), w.constant(w.attr("alpha", 0.2F)),
                              w.constant(w.attr("beta", 0.5F)));
  w.op(MapOp::kClamp, sum, w.constant(0.0F), w.constant(1.0F));
  return true;
}

bool elu(Writer& w) {
  w.op(MapOp::kElu, w.input(0), w.constant(w.attr("alpha", 1.0F)));
  return true;
}

bool selu(Writer& w) {
  const MapOperand y =
      w.op(MapOp::kElu, w.input(0), w.constant(w.attr("alpha", 1.67326319217681884765625F)));
  w.op(MapOp::kMul, y, w.constant(w.attr("gamma", 1.05070102214813232421875F)));
  return true;
}

bool celu(Writer& w) {
  const float alpha = w.attr("alpha", 1.0F);
  if (!(alpha > 0) || alpha == kUnbounded) return false;
  const MapOperand x = w.input(0);
  if (alpha == 1.0F) {
    w.op(MapOp::kElu, x, w.constant(1.0F));
    return true;
  }
  const MapOperand low = w.op(MapOp::kExpm1, w.op(MapOp::kDiv, x, w.constant(alpha)));
  const MapOperand below = w.op(MapOp::kLess, x, w.constant(0.0F));
  w.op(MapOp::kSelect, below, w.op(MapOp::kMul, low, w.constant(alpha)), x);
  return true;
}

bool softsign(Writer& w) {
  const MapOperand x = w.input(0);
  w.op(MapOp::kDiv, x, w.op(MapOp::kAdd, w.op(MapOp::kAbs, x), w.constant(1.0F)));
  return true;
}

bool swish(Writer& w) {
  const float alpha = w.attr("alpha", 1.0F);
  const MapOperand x = w.input(0);
  if (alpha == 1.0F) {
    w.op(MapOp::kSilu, x);
    return true;
  }
  const MapOperand scaled = w.op(MapOp::kMul, x, w.constant(alpha));
  w.op(MapOp::kMul, x, w.op(MapOp::kSigmoid, scaled));
  return true;
}

bool thresholded_relu(Writer& w) {
  const MapOperand x = w.input(0);
  const MapOperand above = w.op(MapOp::kLess, w.constant(w.attr("alpha", 1.0F)), x);
  w.op(MapOp::kSelect, above, x, w.constant(0.0F));
  return true;
}

bool shrink(Writer& w) {
  const float lambda = w.attr("lambd", 0.5F);
  const MapOperand bias = w.constant(w.attr("bias", 0.0F)), x = w.input(0);
  const MapOperand above = w.op(MapOp::kLess, w.constant(lambda), x);
  const MapOperand rest = w.op(MapOp::kSelect, above, w.op(MapOp::kSub, x, bias), w.constant(0.0F));
  const MapOperand below = w.op(MapOp::kLess, x, w.constant(-lambda));
  w.op(MapOp::kSelect, below, w.op(MapOp::kAdd, x, bias), rest);
  return true;
}

/// y = fma(x, factor, offset), by channel: factor = gain / sqrt(variance + epsilon) and
/// offset = bias - mean * factor, in double and rounded once.
bool batch_normalization(Writer& w) {
  const Node& node = w.node();
  const TypeInfo& x = w.graph().value(node.input(0)).type;
  if (!x.has_rank() || x.rank() < 2 || node.attr_int("training_mode", 0) != 0) return false;
  for (size_t k = 1; k < node.outputs.size(); ++k)
    if (node.outputs[k].valid()) return false;
  std::vector<std::vector<double>> p;
  for (size_t i = 1; i <= 4; ++i) {
    const Tensor* t = w.graph().constant(node.input(i));
    if (t == nullptr || t->type() != DType::kFloat32) return false;
    auto values = t->to_doubles();
    if (!values.ok() || (!p.empty() && values->size() != p[0].size())) return false;
    p.push_back(std::move(*values));
  }
  const auto epsilon = static_cast<double>(node.attr_float("epsilon", 1e-5F));
  std::vector<float> factor, offset;
  for (size_t k = 0; k < p[0].size(); ++k) {
    const double f = p[0][k] / std::sqrt(p[3][k] + epsilon);
    factor.push_back(static_cast<float>(f));
    offset.push_back(static_cast<float>(p[1][k] - f * p[2][k]));
  }
  Shape shape(static_cast<size_t>(x.rank() - 1), 1);
  shape[0] = static_cast<int64_t>(factor.size());
  const MapOperand a = w.input(0);
  const MapOperand f = w.made(Tensor::of<float>(shape, std::span<const float>(factor)));
  w.op(MapOp::kFma, a, f, w.made(Tensor::of<float>(shape, std::span<const float>(offset))));
  return true;
}

/// ((a + b) + c) ...
MapOperand sum_of_all(Writer& w) {
  MapOperand y = w.input(0);
  for (size_t i = 1; i < w.node().inputs.size(); ++i)
    y = w.op(MapOp::kAdd, y, w.input(i));
  return y;
}

bool sum(Writer& w) {
  if (w.node().inputs.size() < 2) return false;
  sum_of_all(w);
  return true;
}

bool mean(Writer& w) {
  const size_t count = w.node().inputs.size();
  if (count < 2) return false;
  w.op(MapOp::kDiv, sum_of_all(w), w.constant(static_cast<float>(count)));
  return true;
}

struct Written {
  std::string_view domain, op;
  Bits bits;
  WriteFn* write;
};

constexpr Written kWritten[] = {
    {"", "Add", Bits::kSame, fold<MapOp::kAdd>},
    {"", "Sum", Bits::kSame, fold<MapOp::kAdd>},
    {"", "Sub", Bits::kSame, fold<MapOp::kSub>},
    {"", "Mul", Bits::kSame, fold<MapOp::kMul>},
    {"", "Div", Bits::kSame, fold<MapOp::kDiv>},
    {"", "Min", Bits::kSame, fold<MapOp::kMin>},
    {"", "Max", Bits::kSame, fold<MapOp::kMax>},
    {"", "Pow", Bits::kSame, pow},
    {"", "Neg", Bits::kSame, unary<MapOp::kNeg>},
    {"", "Abs", Bits::kSame, unary<MapOp::kAbs>},
    {"", "Sign", Bits::kSame, unary<MapOp::kSign>},
    {"", "Sqrt", Bits::kSame, unary<MapOp::kSqrt>},
    {"", "Reciprocal", Bits::kSame, unary<MapOp::kReciprocal>},
    {"", "Floor", Bits::kSame, unary<MapOp::kFloor>},
    {"", "Ceil", Bits::kSame, unary<MapOp::kCeil>},
    {"", "Round", Bits::kSame, unary<MapOp::kRound>},
    {"", "Relu", Bits::kSame, unary<MapOp::kRelu>},
    {"", "Clip", Bits::kSame, clip},
    {"", "LeakyRelu", Bits::kSame, leaky_relu},
    {"", "PRelu", Bits::kSame, prelu},
    {"", "ThresholdedRelu", Bits::kSame, thresholded_relu},
    {"", "Shrink", Bits::kSame, shrink},
    {"", "Exp", Bits::kAny, unary<MapOp::kExp>},
    {"", "Sum", Bits::kAny, sum},
    {"", "Mean", Bits::kAny, mean},
    {"", "Sin", Bits::kAny, unary<MapOp::kSin>},
    {"", "Cos", Bits::kAny, unary<MapOp::kCos>},
    {"", "Log", Bits::kAny, unary<MapOp::kLog>},
    {"", "Erf", Bits::kAny, unary<MapOp::kErf>},
    {"", "Tanh", Bits::kAny, unary<MapOp::kTanh>},
    {"", "Sigmoid", Bits::kAny, unary<MapOp::kSigmoid>},
    {"", "Softplus", Bits::kAny, unary<MapOp::kSoftplus>},
    {"", "Softsign", Bits::kAny, softsign},
    {"", "Mish", Bits::kAny, unary<MapOp::kMish>},
    {"", "Swish", Bits::kAny, swish},
    {"", "HardSwish", Bits::kAny, unary<MapOp::kHardSwish>},
    {"", "HardSigmoid", Bits::kAny, hard_sigmoid},
    {"", "Elu", Bits::kAny, elu},
    {"", "Selu", Bits::kAny, selu},
    {"", "Celu", Bits::kAny, celu},
    {"", "Gelu", Bits::kAny, gelu},
    {"", "BatchNormalization", Bits::kAny, batch_normalization},
    {kNative, "Exp", Bits::kSame, unary<MapOp::kExp>},
    {kNative, "Erf", Bits::kSame, unary<MapOp::kErf>},
    {kNative, "Tanh", Bits::kSame, unary<MapOp::kTanh>},
    {kNative, "Sigmoid", Bits::kSame, unary<MapOp::kSigmoid>},
    {kNative, "Gelu", Bits::kSame, gelu},
    {kNative, "RoundHalf", Bits::kSame, round_half},
    {kNative, "FakeQuantize", Bits::kSame, fake_quantized},
};

std::optional<Mapped> of_map(const Node& node) {
  auto program = native::parse_map(node, node.inputs.size());
  if (!program.ok()) return std::nullopt;
  Mapped out{.program = std::move(*program), .inputs = {}};
  for (const ValueId id : node.inputs)
    out.inputs.push_back({id, std::nullopt});
  return out;
}

/// mul(a, sigmoid(a)) is one instruction: the same steps.
void join_silu(Program& program) {
  auto& code = program.code;
  const auto uses = [&](size_t result) {
    int count = 0;
    for (const MapInstruction& each : code)
      for (const MapOperand& operand : each.used())
        count += operand == MapOperand{Kind::kResult, static_cast<uint8_t>(result)} ? 1 : 0;
    return count;
  };
  for (size_t i = 0; i < code.size(); ++i) {
    if (code[i].op != MapOp::kMul) continue;
    for (size_t k = 0; k < 2; ++k) {
      const MapOperand gate = code[i].operands[k], x = code[i].operands[1 - k];
      if (gate.kind != Kind::kResult || code[gate.index].op != MapOp::kSigmoid ||
          code[gate.index].operands[0] != x || uses(gate.index) != 1)
        continue;
      code[i] = MapInstruction{.op = MapOp::kSilu, .operands = {x}};
      code.erase(code.begin() + gate.index);
      for (MapInstruction& each : code)
        for (MapOperand& operand : each.operands)
          if (operand.kind == Kind::kResult && operand.index > gate.index) --operand.index;
      return join_silu(program);
    }
  }
}

} // namespace

std::optional<Mapped> mapped(const Graph& graph, const Node& node, Bits bits) {
  if (!node.output(0).valid() || !node.captures.empty()) return std::nullopt;
  for (const ValueId id : node.inputs)
    if (id.valid() && graph.value(id).type.type != DType::kFloat32 && !node.is("Pow"))
      return std::nullopt;
  if (!node.input(0).valid() || graph.value(node.input(0)).type.type != DType::kFloat32)
    return std::nullopt;
  if (node.is("Map", kNative)) return of_map(node);
  for (const Written& rule : kWritten) {
    if (rule.domain != node.domain || rule.op != node.op_type) continue;
    if (bits == Bits::kSame && rule.bits != Bits::kSame) continue;
    Writer writer(graph, node);
    if (rule.write(writer)) return writer.finish();
  }
  return std::nullopt;
}

bool covers(const TypeInfo& x, const TypeInfo& y) {
  if (!x.has_rank() || !y.has_rank()) return false;
  return std::equal(x.shape->begin(), x.shape->end(), y.shape->begin(), y.shape->end(),
                    [](const Dim& a, const Dim& b) { return a == b || !a.is_constant(); });
}

std::optional<Mapped> joined(const Mapped& producer, const Mapped& consumer, size_t k) {
  Mapped out = producer;
  Program& program = out.program;
  const auto result = static_cast<uint8_t>(program.code.size() - 1);
  std::vector<MapOperand> inputs, constants;
  for (size_t i = 0; i < consumer.inputs.size(); ++i) {
    const ValueId id = consumer.inputs[i].id;
    if (i == k) {
      inputs.push_back({Kind::kResult, result});
      continue;
    }
    size_t at = 0;
    while (at < out.inputs.size() && out.inputs[at].id != id)
      ++at;
    if (at == out.inputs.size()) out.inputs.push_back(consumer.inputs[i]);
    inputs.push_back({Kind::kInput, static_cast<uint8_t>(at)});
  }
  for (const float value : consumer.program.constants)
    constants.push_back(constant_of(program, value));
  for (MapInstruction each : consumer.program.code) {
    for (size_t i = 0; i < each.used().size(); ++i) {
      MapOperand& operand = each.operands[i];
      if (operand.kind == Kind::kInput)
        operand = inputs[operand.index];
      else if (operand.kind == Kind::kConstant)
        operand = constants[operand.index];
      else
        operand.index = static_cast<uint8_t>(operand.index + result + 1);
    }
    program.code.push_back(each);
  }
  join_silu(program);
  program.inputs = out.inputs.size();
  if (program.inputs > numerics::kMaxMapInputs ||
      program.constants.size() > numerics::kMaxMapConstants ||
      program.code.size() > numerics::kMaxMapInstructions)
    return std::nullopt;
  return out;
}

void set_map(Node& node, const Mapped& mapped) {
  node.op_type = "Map";
  node.domain = kNative;
  node.attributes.clear();
  node.set("program", numerics::program_text(mapped.program));
  if (!mapped.program.constants.empty()) node.set("constants", mapped.program.constants);
  node.inputs.clear();
  for (const Mapped::Input& input : mapped.inputs)
    node.inputs.push_back(input.id);
}

} // namespace octet::lowering
