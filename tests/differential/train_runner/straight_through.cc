// SPDX-License-Identifier: Apache-2.0
#include "train_runner/straight_through.h"

#include <map>

#include "ops/infer.h"
#include "train/executor/program.h"
#include "train/executor/qdq_pair.h"
#include "train_runner/in_double.h"

#include "octet/executor.h"

namespace octet::differential {
namespace {

using Values = std::map<ValueId, Tensor>;

/// What the graph computes of some values.
Result<Values>
run_for(const Graph& graph, const std::vector<ValueId>& wanted, std::span<const Tensor> inputs) {
  Graph open = graph;
  open.set_outputs(wanted);
  const auto executor = OCTET_TRY(make_reference_executor(open));
  const std::vector<Tensor> made = OCTET_TRY(executor->run(inputs));
  Values out;
  for (size_t i = 0; i < wanted.size(); ++i)
    out[wanted[i]] = made[i];
  return out;
}

/// 1 where the pair lets x through, and what is added to it there.
struct Line {
  Tensor slope, offset;
};

Line line_of(const train::FakeQuant& spec, const Tensor& scale, const Tensor& x, const Tensor& y) {
  const double slack = is_integer(spec.type) ? 0.5 : 0.0;
  int64_t inner = 1;
  for (int64_t i = spec.axis + 1; spec.axis >= 0 && i < x.rank(); ++i)
    inner *= x.dim(i);
  Line line{Tensor::zeros(DType::kFloat64, x.shape()).value(),
            Tensor::zeros(DType::kFloat64, x.shape()).value()};
  const auto slopes = line.slope.mutable_data<double>(),
             offsets = line.offset.mutable_data<double>();
  for (size_t i = 0; i < slopes.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const int64_t channel = spec.axis < 0 ? 0 : at / inner % x.dim(spec.axis);
    const auto c = static_cast<size_t>(channel);
    const double r = x.at(at) / scale.at(channel);
    const bool passes = slack > 0 ? r > spec.low[c] - slack && r < spec.high[c] + slack
                                  : r >= spec.low[c] && r <= spec.high[c];
    slopes[i] = passes ? 1 : 0;
    offsets[i] = y.at(at) - slopes[i] * x.at(at);
  }
  return line;
}

void replace(Graph& graph, ValueId y, ValueId x, const Line& line) {
  const ValueId slope = graph.add_constant(graph.unique_name("slope"), line.slope),
                offset = graph.add_constant(graph.unique_name("offset"), line.offset);
  graph.replace_uses(y, graph.emit("Add", {graph.emit("Mul", {x, slope}), offset}));
}

} // namespace

Result<Graph> straight_through(const Graph& graph, std::span<const Tensor> inputs) {
  Graph out = graph;
  OCTET_TRY(train::absorb_constant_nodes(out));
  OCTET_TRY(infer_types(out)); // which finding pairs asks for
  const Graph read = out;      // as it was
  const Uses uses(read);
  std::vector<train::QdqPair> pairs;
  std::vector<NodeId> quantizers; // of each
  std::vector<ValueId> wanted;
  std::map<ValueId, size_t> paired; // by what a DequantizeLinear makes
  for (const NodeId id : read.nodes()) {
    const Node& node = read.node(id);
    if (node.op_type == "DequantizeLinear") wanted.push_back(node.outputs[0]);
    if (!node.is("QuantizeLinear")) continue;
    auto pair = train::match_qdq_pair(read, uses, node);
    if (!pair) continue;
    for (const NodeId dq : pair->dequantizers)
      paired[read.node(dq).outputs[0]] = pairs.size();
    pairs.push_back(std::move(*pair));
    quantizers.push_back(id);
    wanted.push_back(node.inputs[0]);
  }
  const Values values = OCTET_TRY(run_for(read, wanted, inputs));
  for (const NodeId id : read.nodes()) {
    const Node& node = read.node(id);
    if (node.op_type != "DequantizeLinear") continue;
    const ValueId y = node.outputs[0];
    const auto found = paired.find(y);
    if (found == paired.end()) {
      out.replace_uses(y, out.add_constant(out.unique_name("value"), in_double(values.at(y))));
      continue;
    }
    const train::QdqPair& pair = pairs[found->second];
    // What goes in may have been replaced.
    const NodeId q = quantizers[found->second];
    const ValueId x = read.node(q).inputs[0];
    replace(out, y, out.node(q).inputs[0],
            line_of(pair.spec, read.value(pair.scale).constant, values.at(x), values.at(y)));
  }
  std::vector<ValueId> kept;
  for (size_t i = 0; i < out.outputs().size(); ++i)
    if (is_float(read.value(read.outputs()[i]).type.type)) kept.push_back(out.outputs()[i]);
  out.set_outputs(kept);
  out.remove_dead();
  return in_double(out);
}

} // namespace octet::differential
