// SPDX-License-Identifier: Apache-2.0
// A chain of functions of one tensor between codes becomes QTable: the chain on all 256 codes,
// evaluated by the reference.
//   DQ ─ f ─ Q                      DQ ┬ Sigmoid ─ Mul ─ Q
//                                      └───────────┘
// Codes that a table has made of others are functions of those:
//   q ─ DQ ┬ Erf ─ Q ─ DQ ─ Mul ─ Q      becomes one table of q
//          └─────────────────┘
#include <algorithm>
#include <map>
#include <numeric>

#include "graph/domains.h"
#include "ops/infer.h"
#include "passes/lower/context.h"
#include "passes/lower/programs.h"
#include "passes/match.h"

namespace octet::lowering {
namespace {

constexpr size_t kMaxChain = 24;

struct Chain {
  ValueId x;    ///< a value that all of it is computed from, or from the codes behind
  ValueId root; ///< in the lowered graph: the codes that the table will be of
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

/// A number that gives a tensor beside it no other shape; codes may stand for it.
bool is_number_beside(const Context& c, ValueId id, const TypeInfo& x) {
  const TypeInfo& type = c.in().value(id).type;
  const auto shape = type.static_shape();
  const bool is_one =
      shape && std::all_of(shape->begin(), shape->end(), [](int64_t d) { return d == 1; });
  return is_one && c.is_constant(id) &&
         (shape->empty() || (x.has_rank() && type.rank() <= x.rank()));
}

/// The node of the lowered graph that makes the codes of a value, where that is a table.
const Node* table_of(Context& c, ValueId id) {
  const auto codes = c.codes(id);
  const Node* made = codes ? c.out().producer(codes->id) : nullptr;
  return made != nullptr && made->is("QTable", kNative) ? made : nullptr;
}

/// The codes that those of the value are a table of, else its own.
ValueId root_of(Context& c, ValueId id) {
  const Node* table = table_of(c, id);
  return table != nullptr ? table->input(0) : c.codes(id)->id;
}

/// Whether the value is a function of the chain's codes, element by element: what is made of the same
/// codes has their sizes, also where nobody knows these.
bool is_of_codes(Context& c, ValueId id, const Chain& chain) {
  const auto codes = c.codes(id);
  const TypeInfo& type = c.in().value(id).type;
  const TypeInfo& x = c.in().value(chain.x).type;
  return codes && codes->same_order(*c.codes(chain.x)) && type.type == x.type && type.has_rank() &&
         x.has_rank() && type.rank() == x.rank() &&
         (codes->id == chain.root || root_of(c, id) == chain.root);
}

/// Whether the node computes from `values`, functions of the same codes and numbers alone.
bool is_of(Context& c, const Node& node, const Chain& chain, const std::vector<ValueId>& values) {
  return is_function_of_elements(c, node) &&
         std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId in) {
           return !in.valid() || std::find(values.begin(), values.end(), in) != values.end() ||
                  is_of_codes(c, in, chain) || is_number_beside(c, in, c.in().value(chain.x).type);
         });
}

/// From the node to the first value that is quantized and otherwise not read; `root` are codes that
/// what the node reads is made of.
std::optional<Chain> chain_to(Context& c, const Node& first, ValueId x, ValueId root) {
  Chain chain{.x = x, .root = root, .nodes = {}, .end = {}};
  std::vector<ValueId> values;
  NodeId next = first.id;
  while (chain.nodes.size() < kMaxChain) {
    const Node& node = c.in().node(next);
    if (c.done(next) || !is_of(c, node, chain, values)) return std::nullopt;
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

std::optional<Chain> chain_from(Context& c, const Node& first) {
  const auto x = std::find_if(first.inputs.begin(), first.inputs.end(),
                              [&](ValueId in) { return in.valid() && c.codes(in).has_value(); });
  if (x == first.inputs.end() || c.in().value(*x).type.type != DType::kFloat32) return std::nullopt;
  const ValueId own = c.codes(*x)->id, root = root_of(c, *x);
  auto chain = chain_to(c, first, *x, root);
  return chain || own == root ? chain : chain_to(c, first, *x, own);
}

/// The number that each of the 256 codes of the chain's root stands for in the value.
Result<Tensor> numbers_of(Context& c, const Chain& chain, ValueId id) {
  Tensor out = OCTET_TRY(Tensor::zeros(DType::kFloat32, {256}));
  const qdq::Grid& grid = c.source(id).quant;
  std::vector<int64_t> codes(256);
  std::iota(codes.begin(), codes.end(), int64_t{grid.code_range()->lo});
  if (c.codes(id)->id != chain.root)
    codes = OCTET_TRY(c.out().constant(table_of(c, id)->input(1))->to_ints());
  for (size_t i = 0; i < codes.size(); ++i)
    out.mutable_data<float>()[i] = qdq::value_of(grid, codes[i]);
  return out;
}

/// The chain on the numbers that the 256 codes stand for, quantized.
Result<Tensor> make_table(Context& c, const Chain& chain) {
  std::map<ValueId, Tensor> values;
  for (const NodeId id : chain.nodes) {
    const Node& node = c.in().node(id);
    EvalContext context{.node = node,
                        .version = c.in().opset(node.domain),
                        .inputs = {},
                        .run_body = {},
                        .seed = 0};
    for (const ValueId in : node.inputs) {
      if (in.valid() && !values.contains(in))
        values.emplace(in, c.codes(in) ? OCTET_TRY(numbers_of(c, chain, in))
                                       : OCTET_TRY(c.constant(in)->reshaped({})));
      context.inputs.push_back(in.valid() ? values.at(in) : Tensor{});
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
  const Tensor table = OCTET_TRY(make_table(c, *chain));
  const Form codes = *c.codes(chain->x);
  made.inputs = {chain->root, c.out().add_constant(node.name + "/table", table)};
  const ValueId named = c.in().node(chain->end.quantizers[0]).outputs[0];
  c.finish(node, chain->end, codes.ordered(c.emit(std::move(made), c.in().value(named).name)));
  return true;
}

} // namespace octet::lowering
