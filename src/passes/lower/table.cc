// SPDX-License-Identifier: Apache-2.0
// A chain of functions of one tensor between codes becomes QTable: the chain on all 256 codes,
// evaluated by the reference.
//   DQ ─ f ─ Q                      DQ ┬ Sigmoid ─ Mul ─ Q
//                                      └───────────┘
#include <algorithm>
#include <map>

#include "graph/domains.h"
#include "ops/infer.h"
#include "passes/lower/context.h"
#include "passes/lower/programs.h"

namespace octet::lowering {
namespace {

constexpr size_t kMaxChain = 24;

struct Chain {
  ValueId x; ///< what all of it is computed from
  std::vector<NodeId> nodes;
  Epilogue end;
};

bool is_function_of_elements(const Context& c, const Node& node) {
  if (node.outputs.size() != 1 || !node.captures.empty() || node.inputs.empty()) return false;
  if (const auto program = mapped(c.in(), node, Bits::kAny))
    return std::none_of(program->inputs.begin(), program->inputs.end(),
                        [](const Mapped::Input& input) { return input.made.has_value(); });
  const OpDef* op = find_op(node.domain, node.op_type);
  return node.domain.empty() && op != nullptr &&
         op->quant.fn(node, input_infos(c.in(), node)).kind == QuantTrait::Kind::kUnary;
}

/// A constant of one element that gives a tensor beside it no other shape.
bool is_number_beside(const Context& c, ValueId id, const TypeInfo& x) {
  const Tensor* t = c.in().constant(id);
  return t != nullptr && t->count() == 1 &&
         (t->rank() == 0 || (x.has_rank() && t->rank() <= x.rank()));
}

/// Whether the node computes from `values` and numbers alone.
bool is_of(const Context& c, const Node& node, ValueId x, const std::vector<ValueId>& values) {
  return is_function_of_elements(c, node) &&
         std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId in) {
           return !in.valid() || std::find(values.begin(), values.end(), in) != values.end() ||
                  is_number_beside(c, in, c.in().value(x).type);
         });
}

/// The one tensor with codes that the node reads.
ValueId codes_of(const Context& c, const Node& node) {
  for (const ValueId in : node.inputs)
    if (in.valid() && c.codes(in)) return in;
  return {};
}

/// From the node to the first value that is quantized and otherwise not read.
std::optional<Chain> chain_from(Context& c, const Node& first) {
  const ValueId x = codes_of(c, first);
  if (!x.valid() || c.in().value(x).type.type != DType::kFloat32) return std::nullopt;
  Chain chain{.x = x, .nodes = {}, .end = {}};
  std::vector<ValueId> values = {x};
  NodeId next = first.id;
  while (chain.nodes.size() < kMaxChain) {
    const Node& node = c.in().node(next);
    if (c.done(next) || !is_of(c, node, x, values)) return std::nullopt;
    chain.nodes.push_back(next);
    values.push_back(node.outputs[0]);
    chain.end = c.epilogue(node.outputs[0], false);
    // Only the quantizers of its own result: a clamp behind it is the next function.
    if (chain.end.to != DType::kFloat32 && chain.end.absorbed.empty()) return chain;
    next = c.uses().single_consumer(node.outputs[0]);
    if (!next.valid()) return std::nullopt;
  }
  return std::nullopt;
}

/// The chain on the numbers that the 256 codes stand for, quantized.
Result<Tensor> make_table(const Context& c, const Chain& chain, const qdq::Grid& from) {
  Tensor x = OCTET_TRY(Tensor::zeros(DType::kFloat32, {256}));
  const int64_t low = from.code_range()->lo;
  for (int64_t i = 0; i < 256; ++i)
    x.mutable_data<float>()[static_cast<size_t>(i)] = qdq::value_of(from, low + i);
  std::map<ValueId, Tensor> values = {{chain.x, x}};
  for (const NodeId id : chain.nodes) {
    const Node& node = c.in().node(id);
    EvalContext context{.node = node,
                        .version = c.in().opset(node.domain),
                        .inputs = {},
                        .run_body = {},
                        .seed = 0};
    for (const ValueId in : node.inputs) {
      const auto made = values.find(in);
      const Tensor* constant = in.valid() ? c.in().constant(in) : nullptr;
      context.inputs.push_back(made != values.end()  ? made->second
                               : constant != nullptr ? OCTET_TRY(constant->reshaped({}))
                                                     : Tensor{});
    }
    const std::vector<Tensor> y = OCTET_TRY(find_op(node.domain, node.op_type)->eval.fn(context));
    values.insert_or_assign(node.outputs[0], y[0]);
  }
  const qdq::Grid& to = chain.end.quant;
  const Tensor& y = values.at(chain.end.end);
  Tensor table = OCTET_TRY(Tensor::zeros(to.codes, {256}));
  for (size_t i = 0; i < 256; ++i)
    table.mutable_bytes()[i] = static_cast<std::byte>(qdq::code_of(to, y.data<float>()[i]) & 0xff);
  return table;
}

} // namespace

Result<bool> lower_table(Context& c, const Node& node) {
  auto chain = chain_from(c, node);
  if (!chain) return false;
  Node made;
  made.op_type = "QTable";
  made.domain = kNative;
  made.name = node.name;
  for (const NodeId id : chain->nodes)
    made.origin.push_back(c.in().node(id).name);
  chain->end.absorbed.assign(chain->nodes.begin() + 1, chain->nodes.end());
  const Tensor table = OCTET_TRY(make_table(c, *chain, c.source(chain->x).quant));
  const Form codes = *c.codes(chain->x);
  made.inputs = {codes.id, c.out().add_constant(node.name + "/table", table)};
  const ValueId named = c.in().node(chain->end.quantizers[0]).outputs[0];
  c.finish(node, chain->end, codes.ordered(c.emit(std::move(made), c.in().value(named).name)));
  return true;
}

} // namespace octet::lowering
