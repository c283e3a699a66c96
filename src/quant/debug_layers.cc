// SPDX-License-Identifier: Apache-2.0
#include "quant/debug_layers.h"

#include <cmath>
#include <limits>
#include <map>

#include "core/format.h"
#include "graph/domains.h"
#include "ops/infer.h"
#include "quant/debug_graph.h"

namespace octet {

namespace {

constexpr double kLeastSqnrDb = 80;

bool is_float_product(const Node& node) {
  return node.is("Conv") || node.is("Gemm") || node.is("MatMul");
}
bool is_integer_product(const Node& node) {
  return node.is("MatMulInteger") || node.is("ConvInteger");
}

Status compare(const Tensor& literal, const Tensor& lowered, LayerDifference& out) {
  if (literal.shape() != lowered.shape())
    return error("debug: \"{}\" has shape {}, lowered {}", out.value, to_string(literal.shape()),
                 to_string(lowered.shape()));
  out.elements += literal.count();
  for (int64_t i = 0; i < literal.count(); ++i) {
    const double want = literal.at(i);
    const double got = lowered.at(i);
    const bool same = want == got || (std::isnan(want) && std::isnan(got));
    if (std::isfinite(want)) out.signal += want * want;
    if (same) continue;
    ++out.differing;
    out.noise += (want - got) * (want - got);
  }
  return ok_status();
}

} // namespace

double LayerDifference::sqnr_db() const {
  if (noise == 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(signal / noise);
}

bool LayerDifference::explained() const {
  return !(sqnr_db() < kLeastSqnrDb);
}

struct LayerComparison::Impl {
  Graph literal;
  std::vector<NodeId> order;
  std::map<ValueId, size_t> taps; ///< value -> entry of the report and output of the tapped graph
  std::unique_ptr<Executor> lowered;
  std::vector<LayerDifference> report;

  std::vector<Tensor> values; ///< by value, until their last use
  std::vector<int> uses_left;

  Tensor& at(ValueId id) { return values[static_cast<size_t>(id.index)]; }
  void tap(ValueId value, std::string operators);
  void find_layers();
  Status prepare(const ExecutorFactory& make);
  Status step(const Node& node, std::span<const Tensor> theirs);
};

void LayerComparison::Impl::tap(ValueId value, std::string operators) {
  const Value& v = literal.value(value);
  if (v.kind != ValueKind::kNodeOutput || !taps.emplace(value, report.size()).second) return;
  report.emplace_back();
  report.back().value = v.name;
  report.back().operators = std::move(operators);
}

void LayerComparison::Impl::find_layers() {
  const Uses uses(literal);
  for (const NodeId id : order) {
    const Node& node = literal.node(id);
    if (node.is("DynamicQuantizeLinear")) tap(node.input(0), "input of a dynamic layer");
    if (node.is("QDynamicGemm", kNative)) {
      tap(node.input(0), "input of a dynamic layer");
      tap(node.output(0), node.op_type);
    }
    const Node* weights = is_float_product(node) ? literal.producer(node.input(1)) : nullptr;
    if (weights != nullptr && weights->is("DequantizeLinear")) tap(node.output(0), node.op_type);
    if (!is_integer_product(node)) continue;
    std::string operators = node.op_type;
    ValueId last = node.output(0);
    while (uses.of(last).size() == 1 && !literal.is_output(last)) {
      const Node& next = literal.node(uses.of(last).front().node);
      if (!next.is("Cast") && !next.is("Mul") && !next.is("Add")) break;
      operators += " " + next.op_type;
      last = next.output(0);
    }
    tap(last, std::move(operators));
  }
}

Status LayerComparison::Impl::prepare(const ExecutorFactory& make) {
  OCTET_TRY(infer_types(literal));
  order = OCTET_TRY(walking_order(literal));
  find_layers();
  if (report.empty())
    return error("the graph has no quantized layer; name a file that quantize wrote");
  Graph tapped = literal;
  std::vector<ValueId> outputs(taps.size());
  for (const auto& [value, index] : taps)
    outputs[index] = value;
  tapped.set_outputs(std::move(outputs));
  tapped.remove_dead();
  lowered = OCTET_TRY(make_lowered(tapped, make));
  return ok_status();
}

Result<LayerComparison> LayerComparison::create(const Graph& literal,
                                                const ExecutorFactory& lowered) {
  auto impl = std::make_unique<Impl>();
  impl->literal = literal;
  OCTET_TRY_WITH(impl->prepare(lowered), "debug");
  return LayerComparison(std::move(impl));
}

/// Runs one node; what is compared is replaced by what the lowered graph made of it.
Status LayerComparison::Impl::step(const Node& node, std::span<const Tensor> theirs) {
  std::vector<Tensor> operands, captures;
  for (const ValueId v : node.inputs)
    operands.push_back(v.valid() ? at(v).aligned() : Tensor{});
  for (const ValueId v : node.captures)
    captures.push_back(at(v));
  std::vector<Tensor> results =
      OCTET_TRY(evaluate_node(literal, node, std::move(operands), captures));
  size_t next = 0;
  for (size_t k = 0; k < node.outputs.size() && k < results.size(); ++k) {
    if (!node.outputs[k].valid()) continue;
    const auto tapped = taps.find(node.outputs[k]);
    if (tapped != taps.end()) {
      OCTET_TRY(compare(results[k], theirs[next], report[tapped->second]));
      results[k] = theirs[next++];
    }
    if (uses_left[static_cast<size_t>(node.outputs[k].index)] > 0)
      at(node.outputs[k]) = std::move(results[k]);
  }
  for (const std::vector<ValueId>* read : {&node.inputs, &node.captures})
    for (const ValueId v : *read)
      if (v.valid() && --uses_left[static_cast<size_t>(v.index)] == 0) at(v) = {};
  return ok_status();
}

Status LayerComparison::add(std::span<const Tensor> inputs, const CancelToken* cancel) {
  Impl& d = *impl_;
  const Graph& g = d.literal;
  d.values.assign(static_cast<size_t>(g.value_bound()), {});
  d.uses_left = input_uses(g, d.order);
  for (size_t i = 0; i < inputs.size() && i < g.inputs().size(); ++i)
    d.at(g.inputs()[i]) = inputs[i];
  for (const ValueId id : g.constants())
    d.at(id) = g.value(id).constant;
  WalkBeside walk{g, d.order, {}, [&d](const Node& node, std::span<const Tensor> theirs) {
                    return d.step(node, theirs);
                  }};
  for (const NodeId id : d.order)
    for (const ValueId out : g.node(id).outputs)
      if (const auto tapped = d.taps.find(out); tapped != d.taps.end())
        walk.waits_for[id].push_back(tapped->second);
  return walk.run(*d.lowered, inputs, cancel);
}

const std::vector<LayerDifference>& LayerComparison::report() const {
  return impl_->report;
}

int64_t LayerComparison::unexplained() const {
  int64_t count = 0;
  for (const LayerDifference& layer : impl_->report)
    count += layer.explained() ? 0 : 1;
  return count;
}

LayerComparison::LayerComparison(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LayerComparison::LayerComparison(LayerComparison&&) noexcept = default;
LayerComparison& LayerComparison::operator=(LayerComparison&&) noexcept = default;
LayerComparison::~LayerComparison() = default;

} // namespace octet
