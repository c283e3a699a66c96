// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN with constant weights become octet's own operators. Those of codes,
//   x ─▶ DQ ─▶ LSTM(DQ(W), R, B)
//   =>  x ─▶ DQ ─▶ MatMul(DQ(W of all directions)) ─▶ Add(Wb + Rb) ─▶ LSTM of sums(R, B),
// have their sums of x by one integer product; states stay in float. Rounding: sums of x are exact.
#include "ops/native/recurrent.h"

#include <algorithm>

#include "graph/domains.h"
#include "ops/qdq/emit.h"
#include "ops/qdq/stored.h"
#include "passes/lower/chains.h"
#include "passes/lower/context.h"

namespace octet::lowering {
namespace {

constexpr size_t kOfX = 1, kBiases = 3; // W and B

/// W, R, B and P.
bool is_weight(size_t input) {
  return (input >= 1 && input <= 3) || input == 7;
}

/// Codes [D, G H, I] as one matrix [I, D G H], with a scale for each column, or one for all.
std::optional<qdq::StoredCodes> columns_of(const qdq::StoredCodes& w) {
  const int64_t directions = w.codes.dim(0), rows = w.codes.dim(1), inputs = w.codes.dim(2);
  const std::vector<int64_t> to_columns = {2, 0, 1};
  qdq::StoredCodes out{permuted(w.codes, to_columns), w.grid};
  auto flat = out.codes.reshaped({inputs, directions * rows});
  if (!flat.ok() || w.grid.block != 0) return std::nullopt;
  out.codes = std::move(*flat);
  if (w.grid.per_tensor()) {
    out.grid = qdq::Grid::per_tensor_of(w.codes.type(), w.grid.scale_at(0), w.grid.zero_at(0),
                                        w.grid.real());
    return out;
  }
  if (!w.grid.axis || *w.grid.axis > 1) return std::nullopt;
  std::vector<float> scales;
  std::vector<double> zeros;
  for (int64_t column = 0; column < directions * rows; ++column) {
    const int64_t channel = *w.grid.axis == 0 ? column / rows : column % rows;
    scales.push_back(static_cast<float>(w.grid.scale_at(channel)));
    zeros.push_back(w.grid.zero_at(channel));
  }
  out.grid.scale = Tensor::of<float>({directions * rows}, std::span<const float>(scales));
  out.grid.axis = out.grid.axis_written = 1;
  out.grid = out.grid.with(w.codes.type(), zeros);
  return out;
}

} // namespace

std::optional<Patch> sum_inputs_of_codes(const RuleContext& c, const Node& node) {
  const Graph& g = c.graph;
  const RecurrentKind* kind = native::recurrent_kind(node.op_type);
  if (!node.domain.empty() || kind == nullptr) return std::nullopt;
  const auto x = qdq::read_dequantize(g, node.input(0), kForKernels);
  if (!x || g.constant(x->codes) != nullptr) return std::nullopt;
  const auto is_constant = [&](size_t input) {
    return g.constant(node.input(input)) != nullptr ||
           (input != kBiases && qdq::stored_codes(g, node.input(input)));
  };
  if (!native::why_not_native(g, node, is_constant).empty()) return std::nullopt;
  const auto w = qdq::stored_codes(g, node.input(kOfX));
  if (!w || w->codes.rank() != 3 || w->codes.count() == 0) return std::nullopt;
  const auto columns = columns_of(qdq::in_bytes(*w));
  if (!columns) return std::nullopt;
  Patch patch(g, "sums of codes of x are one product", Exactness::kRounding);
  patch.from(node);
  patch.import_opset(kNative, 1);
  const auto name = [&](const char* part) { return node.name + "/" + part; };
  const ValueId codes = patch.constant(name("weights"), columns->codes);
  const ValueId weights = qdq::emit_dequantize(patch, columns->grid, codes, name("dequantized"));
  ValueId sums = patch.emit("MatMul", {node.input(0), weights}, {}, name("products"));
  if (node.input(kBiases).valid()) {
    const Tensor biases = native::input_biases(g.constant(node.input(kBiases))->aligned(), *kind,
                                               native::candidate_bias(node));
    auto row = biases.reshaped({biases.count()});
    if (!row.ok()) return std::nullopt;
    sums =
        patch.emit("Add", {sums, patch.constant(name("bias"), std::move(*row))}, {}, name("sums"));
  }
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = sums;
  inputs[kOfX] = {};
  const ValueId y = patch.emit(node.op_type, std::move(inputs), node.attributes, node.name, kNative,
                               static_cast<int>(node.outputs.size()));
  for (int k = 0; k < static_cast<int>(node.outputs.size()); ++k)
    if (node.outputs[static_cast<size_t>(k)].valid())
      patch.replace(node.outputs[static_cast<size_t>(k)], patch.output(y, k));
  return patch;
}

Result<bool> lower_recurrent(Context& c, const Node& node) {
  const bool of_sums = node.domain == kNative && !node.input(kOfX).valid();
  if ((!node.domain.empty() && !of_sums) || native::recurrent_kind(node.op_type) == nullptr)
    return false;
  const auto is_constant = [&](size_t input) { return c.is_constant(node.input(input)); };
  if (!native::why_not_native(c.in(), node, is_constant).empty()) return false;
  Node made = node;
  made.domain = kNative;
  made.origin = {node.name};
  for (size_t i = 0; i < made.inputs.size(); ++i) {
    if (!node.inputs[i].valid()) continue;
    made.inputs[i] = is_weight(i) ? c.out().add_constant(c.in().value(node.inputs[i]).name,
                                                         *c.constant(node.inputs[i]))
                                  : c.plain(node.inputs[i]).id;
  }
  for (ValueId& id : made.outputs) {
    if (!id.valid()) continue;
    const Value& v = c.in().value(id);
    const ValueId fresh = c.out().add_value(v.name, v.type);
    c.source(id).real = Form{fresh};
    id = fresh;
  }
  c.out().add_node(std::move(made));
  c.note(node, LowerForm::kFloat, node.op_type,
         of_sums ? "states are f32" : "recurrent layers run in float");
  return true;
}

} // namespace octet::lowering
