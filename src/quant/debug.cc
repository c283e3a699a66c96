// SPDX-License-Identifier: Apache-2.0
// The literal graph is walked node by node four times at once: in float as written, in double
// (exact but for 2^-53), as magnitudes (sum of |x w|, for the error of float sums), and as the
// terms of the fused expression (|m acc| + |b'|, for its bound).
#include "quant/debug.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "core/format.h"
#include "graph/bodies.h"
#include "ops/infer.h"
#include "ops/qdq/site.h"
#include "passes/lower/lower.h"
#include "quant/debug_graph.h"

namespace octet {

namespace {

constexpr double kUlp = 1.0 / (1 << 24);

/// One value of the literal graph in its four readings.
struct Reading {
  Tensor real;      ///< as the literal graph computes it
  Tensor exact;     ///< f64; empty for values that are not float
  Tensor magnitude; ///< f64
  Tensor terms;     ///< f64
  double sums = 1;  ///< float additions behind one element, for the error bound
};

Tensor map(const Tensor& x, const std::function<double(double)>& f) {
  std::vector<double> out = x.to_doubles().value();
  for (double& v : out)
    v = f(v);
  return Tensor::of<double>(x.shape(), std::span<const double>(out));
}
Tensor magnitude(const Tensor& x) {
  return map(x, [](double v) { return std::fabs(v); });
}
Tensor as_double(const Tensor& x) {
  return map(x, [](double v) { return v; });
}

/// Operators whose error and magnitude follow from running them on magnitudes.
bool is_bounded_by_magnitudes(const Node& node) {
  switch (motion_of(node).kind) {
  case Motion::Kind::kView:
  case Motion::Kind::kPermute:
  case Motion::Kind::kSelect:
  case Motion::Kind::kJoin:
    return true;
  case Motion::Kind::kNone:
  case Motion::Kind::kOrder:
  case Motion::Kind::kFill:
  case Motion::Kind::kCast:
    break;
  }
  return facts_of(node).by_magnitude;
}
/// Windows and reductions.
bool adds_up_many(const Node& node) {
  const Facts facts = facts_of(node);
  return facts.by_magnitude && !facts.broadcasts && !facts.exact &&
         motion_of(node).kind == Motion::Kind::kNone;
}
bool is_product(const Node& node) {
  return node.is("Conv") || node.is("Gemm") || node.is("MatMul");
}

struct QuantizerInfo {
  NodeId node;
  std::vector<NodeId> readers; ///< DequantizeLinear
  float scale = 1;
  int32_t zero_point = 0;
  double lowest = -128, highest = 127;
  size_t tap = 0;    ///< output of the tapped graph with the dequantized codes
  size_t report = 0; ///< entry of the report
};

} // namespace

struct LoweringComparison::Impl {
  Graph literal;
  std::vector<NodeId> order;
  std::map<NodeId, QuantizerInfo> quantizers;
  /// Outputs of the tapped graph by node, in the order of its own: of nodes that quantize within
  /// themselves, by ranges of their own, and have no reading in double.
  std::map<NodeId, std::vector<size_t>> taken;
  std::unique_ptr<Executor> lowered;
  std::vector<CodeDifferences> report;

  std::vector<Reading> readings; ///< by value, from when it is made until its last use
  std::vector<int> uses_left;

  void find_quantizers();
  Result<Graph> tapped();
  Status prepare(const ExecutorFactory& make);

  Reading& reading(ValueId id) { return readings[static_cast<size_t>(id.index)]; }
  void set_float(Reading& r, const Tensor& value);
  Status step(const Node& node, std::span<const Tensor> theirs);
  Status compute(const Node& node, std::span<const Tensor> theirs);
  Status check_quantizer(const QuantizerInfo& q, const Tensor& codes, const Tensor& theirs);
  Status derive(const Node& node, const std::vector<Tensor>& real);
  void take_from_bodies(const Node& node, const std::vector<Tensor>& real);
  Status product_terms(const Node& node, Reading& out) const;
  void compare(const QuantizerInfo& q, const Tensor& codes, const Tensor& theirs);
  void classify(const QuantizerInfo& q,
                const Reading& x,
                int64_t i,
                double literal_code,
                double lowered_code);
  void adopt(const QuantizerInfo& q, const Tensor& theirs);
};

void LoweringComparison::Impl::find_quantizers() {
  const Uses uses(literal);
  for (const NodeId id : order) {
    const Node& node = literal.node(id);
    if (!node.is("QuantizeLinear") || literal.constant(node.input(0)) != nullptr) continue;
    const Tensor* scale = qdq::written(literal, node).scales;
    const Tensor* zero = qdq::written(literal, node).zeros;
    if (scale == nullptr || scale->count() != 1 || zero == nullptr) continue;
    if (zero->type() != DType::kInt8 && zero->type() != DType::kUint8) continue;
    QuantizerInfo q;
    q.node = id;
    for (const Uses::Use& use : uses.of(node.output(0)))
      if (literal.node(use.node).is("DequantizeLinear")) q.readers.push_back(use.node);
    if (q.readers.empty()) continue;
    q.scale = static_cast<float>(scale->at(0));
    q.zero_point = static_cast<int32_t>(zero->at(0));
    if (zero->type() == DType::kUint8) {
      q.lowest = 0;
      q.highest = 255;
    }
    q.report = report.size();
    report.emplace_back();
    report.back().value = literal.value(node.output(0)).name;
    quantizers.emplace(id, std::move(q));
  }
}

/// The literal graph with the dequantized codes of every quantizer as its outputs, and with what is
/// taken as the lowered graph has it.
Result<Graph> LoweringComparison::Impl::tapped() {
  Graph out = literal;
  std::vector<ValueId> outputs;
  if (quantizers.empty())
    return error(ErrorCode::kRefused, "the graph stores no codes of activations");
  for (const NodeId id : order) {
    const Node& node = literal.node(id);
    const auto found = quantizers.find(id);
    if (found != quantizers.end()) {
      found->second.tap = outputs.size();
      outputs.push_back(literal.node(found->second.readers.front()).output(0));
    } else if (node.is("DynamicQuantizeLSTM", kMicrosoft)) {
      for (const ValueId value : node.outputs) {
        if (!value.valid()) continue;
        taken[id].push_back(outputs.size());
        outputs.push_back(value);
      }
    }
  }
  out.set_outputs(std::move(outputs));
  out.remove_dead();
  return out;
}

Status LoweringComparison::Impl::prepare(const ExecutorFactory& make) {
  OCTET_TRY(infer_types(literal));
  OCTET_TRY(to_standard_operators(literal, true));
  order = OCTET_TRY(walking_order(literal));
  find_quantizers();
  const Graph graph = OCTET_TRY(tapped());
  lowered = OCTET_TRY(make_lowered(graph, make));
  return ok_status();
}

void LoweringComparison::Impl::set_float(Reading& r, const Tensor& value) {
  r.real = value;
  if (!is_float(value.type())) return;
  r.exact = as_double(value);
  r.magnitude = magnitude(r.exact);
  r.terms = r.magnitude;
  r.sums = 1;
}

/// |acc| + |bias| of a product, and the magnitudes and sums behind it.
Status LoweringComparison::Impl::product_terms(const Node& node, Reading& out) const {
  const auto in = [&](size_t i) -> const Reading& {
    return readings[static_cast<size_t>(node.input(i).index)];
  };
  std::vector<Tensor> magnitudes = {in(0).magnitude, in(1).magnitude};
  if (node.input(2).valid()) magnitudes.push_back(in(2).magnitude);
  out.magnitude = OCTET_TRY(evaluate_node(literal, node, magnitudes)).at(0);
  const Tensor acc = OCTET_TRY(evaluate_node(literal, node, {in(0).exact, in(1).exact})).at(0);
  std::vector<double> terms(static_cast<size_t>(acc.count()));
  for (int64_t i = 0; i < acc.count(); ++i)
    terms[static_cast<size_t>(i)] = std::fabs(acc.at(i)) + std::fabs(out.exact.at(i) - acc.at(i));
  out.terms = Tensor::of<double>(acc.shape(), std::span<const double>(terms));
  const Tensor& w = in(1).real;
  const int64_t channels = node.is("Conv")   ? w.dim(0)
                           : node.is("Gemm") ? w.dim(node.attr_int("transB", 0) != 0 ? 0 : 1)
                                             : w.dim(w.rank() - 1);
  out.sums = static_cast<double>(w.count()) / static_cast<double>(std::max<int64_t>(channels, 1)) +
             std::max(in(0).sums, in(1).sums) + 2;
  return ok_status();
}

/// The double readings of a float node's first output.
Status LoweringComparison::Impl::derive(const Node& node, const std::vector<Tensor>& real) {
  Reading out;
  out.real = real.at(0);
  const bool has_float = is_float(out.real.type());
  if (has_float) {
    std::vector<Tensor> exact;
    std::vector<Tensor> magnitudes;
    std::vector<Tensor> terms;
    for (const ValueId id : node.inputs) {
      const Reading empty;
      const Reading& r = id.valid() ? reading(id) : empty;
      const bool is_real = !r.exact.empty();
      exact.push_back(is_real ? r.exact : r.real);
      magnitudes.push_back(is_real ? r.magnitude : r.real);
      terms.push_back(is_real ? r.terms : r.real);
      out.sums = std::max(out.sums, r.sums + 1);
    }
    out.exact = OCTET_TRY(evaluate_node(literal, node, exact)).at(0);
    // Cast and its like name the type that they make.
    if (out.exact.type() != DType::kFloat64) out.exact = as_double(out.exact);
    if (is_product(node)) {
      OCTET_TRY(product_terms(node, out));
    } else if (is_bounded_by_magnitudes(node)) {
      out.magnitude = OCTET_TRY(evaluate_node(literal, node, magnitudes)).at(0);
      out.terms = OCTET_TRY(evaluate_node(literal, node, terms)).at(0);
      out.sums += adds_up_many(node) ? 64 : 0;
    } else if (node.is("Clip") && reading(node.input(0)).terms.shape() == out.real.shape()) {
      out.magnitude = reading(node.input(0)).magnitude;
      out.terms = reading(node.input(0)).terms;
    } else { // a function: its own polynomial may be some units in the last place off
      out.magnitude = magnitude(out.exact);
      out.terms = out.magnitude;
      out.sums += 16;
    }
  }
  // A recurrent network may leave its first output out.
  if (node.output(0).valid()) reading(node.output(0)) = std::move(out);
  for (size_t k = 1; k < node.outputs.size() && k < real.size(); ++k)
    if (node.outputs[k].valid()) set_float(reading(node.outputs[k]), real[k]);
  return ok_status();
}

/// What bodies make counts as exact: how often they add is not known, so much room is left.
void LoweringComparison::Impl::take_from_bodies(const Node& node, const std::vector<Tensor>& real) {
  constexpr double kSums = 64;
  double sums = 0;
  for (const std::vector<ValueId>* read : {&node.inputs, &node.captures})
    for (const ValueId id : *read)
      if (id.valid()) sums = std::max(sums, reading(id).sums);
  for (size_t k = 0; k < node.outputs.size() && k < real.size(); ++k) {
    if (!node.outputs[k].valid()) continue;
    Reading& out = reading(node.outputs[k]);
    set_float(out, real[k]);
    out.sums = sums + kSums;
  }
}

void LoweringComparison::Impl::classify(
    const QuantizerInfo& q, const Reading& x, int64_t i, double literal_code, double lowered_code) {
  CodeDifferences& out = report[q.report];
  ++out.differing;
  const auto scale = static_cast<double>(q.scale);
  const double v = x.exact.at(i) / scale;
  const double low = std::min(literal_code, lowered_code) - q.zero_point;
  const double tie = low + 0.5;
  const double distance = std::fabs(v - tie);
  const double fused = 4 * kUlp * x.terms.at(i) / scale;
  const double sums = fused + (x.sums + 4) * kUlp * x.magnitude.at(i) / scale;
  const bool one_step = std::fabs(literal_code - lowered_code) == 1;
  const bool at_end = std::max(literal_code, lowered_code) == q.highest ||
                      std::min(literal_code, lowered_code) == q.lowest;
  if (one_step && distance <= fused) {
    ++(at_end ? out.saturation : out.ties);
  } else if (one_step && distance <= sums) {
    ++out.reassociation;
  } else {
    if (out.unexplained++ == 0)
      out.example = fmt::format("element {}: literal {}, lowered {}, exact value {} steps, {} from "
                                "the tie, {} allowed",
                                i, literal_code, lowered_code, v + q.zero_point, distance, sums);
    return;
  }
  out.worst_distance = std::max(out.worst_distance, distance);
}

void LoweringComparison::Impl::compare(const QuantizerInfo& q,
                                       const Tensor& codes,
                                       const Tensor& theirs) {
  const Reading& x = reading(literal.node(q.node).input(0));
  CodeDifferences& out = report[q.report];
  out.elements += codes.count();
  for (int64_t i = 0; i < codes.count(); ++i) {
    const double lowered_code =
        std::nearbyint(theirs.at(i) / static_cast<double>(q.scale)) + q.zero_point;
    if (codes.at(i) != lowered_code) classify(q, x, i, codes.at(i), lowered_code);
  }
}

/// The readers of the quantizer go on with the lowered graph's codes.
void LoweringComparison::Impl::adopt(const QuantizerInfo& q, const Tensor& theirs) {
  const auto scale = static_cast<double>(q.scale);
  const Tensor exact = map(theirs, [scale](double v) { return std::nearbyint(v / scale) * scale; });
  for (const NodeId id : q.readers) {
    Reading& r = reading(literal.node(id).output(0));
    r.real = theirs;
    r.exact = exact;
    r.magnitude = magnitude(exact);
    r.terms = r.magnitude;
    r.sums = 1;
  }
}

Status LoweringComparison::Impl::check_quantizer(const QuantizerInfo& q,
                                                 const Tensor& codes,
                                                 const Tensor& theirs) {
  if (theirs.shape() != codes.shape())
    return error("debug: \"{}\" has shape {}, lowered {}", report[q.report].value,
                 to_string(codes.shape()), to_string(theirs.shape()));
  reading(literal.node(q.node).output(0)).real = codes;
  compare(q, codes, theirs);
  adopt(q, theirs);
  return ok_status();
}

/// Readings are there while a node still needs them: eight numbers an element add up.
Status LoweringComparison::Impl::step(const Node& node, std::span<const Tensor> theirs) {
  const std::array reads = {&node.inputs, &node.captures};
  for (const std::vector<ValueId>* read : reads)
    for (const ValueId in : *read)
      if (in.valid() && literal.value(in).is_constant() && reading(in).real.empty())
        set_float(reading(in), literal.value(in).constant);
  OCTET_TRY(compute(node, theirs));
  for (const std::vector<ValueId>* read : reads)
    for (const ValueId in : *read)
      if (in.valid() && --uses_left[static_cast<size_t>(in.index)] == 0) reading(in) = {};
  for (const ValueId out : node.outputs)
    if (out.valid() && uses_left[static_cast<size_t>(out.index)] == 0) reading(out) = {};
  return ok_status();
}

Status LoweringComparison::Impl::compute(const Node& node, std::span<const Tensor> theirs) {
  if (node.is("DequantizeLinear") && node.output(0).valid() &&
      !reading(node.output(0)).real.empty())
    return ok_status(); // adopted
  if (taken.contains(node.id)) {
    size_t tap = 0;
    for (const ValueId value : node.outputs)
      if (value.valid()) set_float(reading(value), theirs[tap++]);
    return ok_status();
  }
  std::vector<Tensor> inputs, captures;
  for (const ValueId id : node.inputs)
    inputs.push_back(id.valid() ? reading(id).real.aligned() : Tensor{});
  for (const ValueId id : node.captures)
    captures.push_back(reading(id).real);
  const std::vector<Tensor> real = OCTET_TRY(evaluate_node(literal, node, inputs, captures));
  if (has_bodies(node)) {
    take_from_bodies(node, real);
    return ok_status();
  }
  const auto found = quantizers.find(node.id);
  if (found != quantizers.end()) return check_quantizer(found->second, real.at(0), theirs[0]);
  if (node.is("DequantizeLinear") || node.is("QuantizeLinear")) {
    Reading& out = reading(node.output(0));
    set_float(out, real.at(0));
    if (node.is("QuantizeLinear")) return ok_status();
    // Weights and biases: codes times scale without the rounding to float.
    std::vector<Tensor> exact = inputs;
    exact.at(1) = as_double(inputs.at(1));
    const auto product = evaluate_node(literal, node, exact);
    if (!product.ok() || product->at(0).type() != DType::kFloat64) return ok_status();
    out.exact = product->at(0);
    out.magnitude = magnitude(out.exact);
    out.terms = out.magnitude;
    return ok_status();
  }
  return derive(node, real);
}

Result<LoweringComparison> LoweringComparison::create(const Graph& literal,
                                                      const ExecutorFactory& lowered) {
  auto impl = std::make_unique<Impl>();
  impl->literal = literal;
  OCTET_TRY_WITH(impl->prepare(lowered), "debug");
  return LoweringComparison(std::move(impl));
}

Status LoweringComparison::add(std::span<const Tensor> inputs, const CancelToken* cancel) {
  Impl& d = *impl_;
  d.readings.assign(static_cast<size_t>(d.literal.value_bound()), {});
  d.uses_left = input_uses(d.literal, d.order);
  for (size_t i = 0; i < inputs.size() && i < d.literal.inputs().size(); ++i)
    d.set_float(d.reading(d.literal.inputs()[i]), inputs[i]);
  WalkBeside walk{d.literal, d.order, {}, [&d](const Node& node, std::span<const Tensor> theirs) {
                    return d.step(node, theirs);
                  }};
  for (const auto& [id, q] : d.quantizers)
    walk.waits_for[id] = {q.tap};
  for (const auto& [id, taps] : d.taken)
    walk.waits_for[id] = taps;
  return walk.run(*d.lowered, inputs, cancel);
}

const std::vector<CodeDifferences>& LoweringComparison::report() const {
  return impl_->report;
}

int64_t LoweringComparison::unexplained() const {
  int64_t sum = 0;
  for (const CodeDifferences& layer : impl_->report)
    sum += layer.unexplained;
  return sum;
}

LoweringComparison::LoweringComparison(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LoweringComparison::LoweringComparison(LoweringComparison&&) noexcept = default;
LoweringComparison& LoweringComparison::operator=(LoweringComparison&&) noexcept = default;
LoweringComparison::~LoweringComparison() = default;

} // namespace octet
