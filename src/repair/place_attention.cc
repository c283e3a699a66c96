// SPDX-License-Identifier: Apache-2.0
//   q ─▶ MatMul(kᵀ) ─▶ Add(mask) ─▶ Softmax ─▶ MatMul(v) ─▶ y
//   =>   Q and DQ directly before both operands of each product and behind the second, one place a
//        step: what TensorRT's fused int8 kernel asks for. Where --attention int8 asks, too.
// Q and DQ that stand further up, before Transpose, Reshape or the scale, move down to the product:
// exact, with a scale in between up to a tie. Others get the data's range (the softmax without data
// 0 to 1, the output v's scale, as rows of probabilities add up to 1): not exact.
// Source: docs/targets.md 2.4.
#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "graph/label.h"
#include "ops/qdq/emit.h"
#include "repair/attention_places.h"
#include "repair/probe.h"
#include "repair/rules.h"

namespace octet {

namespace {

constexpr int kMaxAttentionHops = 12;

/// The constant of a Mul by one positive number, and the other input's place.
std::optional<std::pair<double, size_t>> factor_of(const Graph& graph, const Node& node) {
  if (!node.is("Mul")) return std::nullopt;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const Tensor* c = graph.constant(node.input(i));
    if (c != nullptr && c->count() == 1 && c->at(0) > 0) return std::pair(c->at(0), 1 - i);
  }
  return std::nullopt;
}

/// Each element of input 0 comes out once.
bool only_moves(const Node& node) {
  const Motion::Kind moves = motion_of(node).kind;
  return moves == Motion::Kind::kView || moves == Motion::Kind::kPermute;
}

/// What stands between Q and DQ further up and a product, from the product up.
struct AttentionWay {
  std::vector<std::pair<const Node*, size_t>> nodes; ///< with the input that is followed
  double factor = 1;
  CodedOperand codes;
};

std::optional<AttentionWay> way_up(const Graph& graph, ValueId value) {
  AttentionWay way;
  for (int hops = 0; hops < kMaxAttentionHops; ++hops) {
    const Node* node = graph.producer(value);
    if (node == nullptr) return std::nullopt;
    if (auto codes = coded_operand(graph, value)) {
      if (way.nodes.empty() || !codes->grid.is_symmetric()) return std::nullopt;
      way.codes = std::move(*codes);
      return way;
    }
    size_t follows = 0;
    if (const auto factor = factor_of(graph, *node)) {
      way.factor *= factor->first;
      follows = factor->second;
    } else if (!only_moves(*node)) {
      return std::nullopt;
    }
    way.nodes.emplace_back(node, follows);
    value = node->input(follows);
  }
  return std::nullopt;
}

class CodePlaces {
 public:
  CodePlaces(const RepairContext& context, const Attention& attention)
      : context_(context), graph_(context.graph), attention_(attention) {}

  std::optional<Repair> next() const {
    const Node& scores = graph_.node(attention_.scores);
    const Node& mixed = graph_.node(attention_.context);
    const bool can_all = (attention_.query_codes || is_codable(scores.input(0))) &&
                         (attention_.key_codes || is_codable(scores.input(1))) &&
                         (attention_.value_codes || is_codable(mixed.input(1)));
    if (!can_all) return std::nullopt; // some of the places would only cost
    if (!attention_.query_codes)
      if (auto r = operand(scores, 0, "before the first product, on Q")) return r;
    if (!attention_.key_codes)
      if (auto r = operand(scores, 1, "before the first product, on K")) return r;
    if (!attention_.value_codes)
      if (auto r = operand(mixed, 1, "before the second product, on V")) return r;
    if (!attention_.probability_codes) return probabilities(mixed);
    if (!attention_.output_codes) return output(mixed);
    return std::nullopt;
  }

 private:
  DType type_of(ValueId value) const { return graph_.value(value).type.type; }

  bool is_codable(ValueId value) const {
    return context_.range_of(value) != nullptr || way_up(graph_, value);
  }

  std::optional<Repair> operand(const Node& product, size_t input, const char* where) const {
    const ValueId value = product.input(input);
    if (const auto way = way_up(graph_, value)) return move_down(product, input, *way, where);
    const Range* seen = context_.range_of(value);
    if (seen == nullptr) return std::nullopt;
    return insert(product, input, std::max(std::abs(seen->lo), std::abs(seen->hi)), where);
  }

  std::optional<Repair>
  move_down(const Node& product, size_t input, const AttentionWay& way, const char* where) const {
    const double step = qdq::as_float(way.codes.grid.scale_at(0) * way.factor);
    if (!qdq::is_usable_scale(step)) return std::nullopt;
    const qdq::Grid grid = way.codes.grid.with({step});
    const bool exact = way.factor == 1;
    Patch patch(graph_, fmt::format("Q/DQ moves down to {}", where),
                exact ? Exactness::kExact : Exactness::kRounding);
    patch.from(*way.codes.dequantize);
    const std::string base = place_name(product, input);
    ValueId value = way.codes.quantize->input(0);
    int number = 0;
    for (auto at = way.nodes.rbegin(); at != way.nodes.rend(); ++at) {
      std::vector<ValueId> inputs = at->first->inputs;
      inputs[at->second] = value;
      value = patch.emit(at->first->op_type, std::move(inputs), at->first->attributes,
                         fmt::format("{}_{}", base, number++));
    }
    const ValueId codes = qdq::emit_quantize(patch, grid, value, base + "_quantize");
    patch.set_input(product.id, input, qdq::emit_dequantize(patch, grid, codes, base));
    return Repair{std::move(patch), exact ? 0 : step};
  }

  std::optional<Repair> probabilities(const Node& product) const {
    const Range* seen = context_.range_of(product.input(0));
    return insert(product, 0, seen == nullptr ? 1 : std::min(1.0, seen->hi), "behind the softmax");
  }

  std::optional<Repair> output(const Node& product) const {
    const ValueId y = product.output(0);
    const auto v = coded_operand(graph_, product.input(1));
    const Range* seen = context_.range_of(y);
    if (graph_.is_output(y) || (seen == nullptr && !v)) return std::nullopt;
    const double most = seen == nullptr ? 127 * v->grid.scale_at(0)
                                        : std::max(std::abs(seen->lo), std::abs(seen->hi));
    const auto grid = grid_up_to(most, type_of(y));
    if (!grid) return std::nullopt;
    Patch patch = new_pair("behind the second product", *grid);
    patch.from(product);
    const std::string base = name_of(graph_, product) + "_output";
    const ValueId codes = qdq::emit_quantize(patch, *grid, y, base + "_quantize");
    const ValueId values = qdq::emit_dequantize(patch, *grid, codes, base);
    for (const Uses::Use& use : context_.uses.of(y)) {
      if (use.input >= graph_.node(use.node).inputs.size()) return std::nullopt; // by a subgraph
      patch.set_input(use.node, use.input, values);
    }
    return with_probe(std::move(patch), y, *grid);
  }

  std::optional<Repair>
  insert(const Node& product, size_t input, double most, const char* where) const {
    const ValueId x = product.input(input);
    const auto grid = grid_up_to(most, type_of(x));
    if (!grid) return std::nullopt;
    Patch patch = new_pair(where, *grid);
    patch.from(product);
    const std::string base = place_name(product, input);
    const ValueId codes = qdq::emit_quantize(patch, *grid, x, base + "_quantize");
    patch.set_input(product.id, input, qdq::emit_dequantize(patch, *grid, codes, base));
    return with_probe(std::move(patch), x, *grid);
  }

  std::optional<qdq::Grid> grid_up_to(double most, DType real) const {
    const double scale = qdq::as_float(most / 127);
    if (!qdq::is_usable_scale(scale) || !is_float(real)) return std::nullopt;
    return qdq::Grid::int8(scale, real);
  }

  Patch new_pair(const char* where, const qdq::Grid& grid) const {
    return {graph_, fmt::format("Q/DQ {}, scale {:.6g}", where, grid.scale_at(0)),
            Exactness::kInexact};
  }

  Repair with_probe(Patch patch, ValueId x, const qdq::Grid& grid) const {
    Repair repair{std::move(patch), grid.scale_at(0) / 2};
    repair.probe = Probe{graph_.value(x).name, identity_probe(grid.real()), probe_graph(grid)};
    return repair;
  }

  std::string place_name(const Node& product, size_t input) const {
    return fmt::format("{}_{}", name_of(graph_, product), input == 0 ? "left" : "right");
  }

  const RepairContext& context_;
  const Graph& graph_;
  const Attention& attention_;
};

} // namespace

std::optional<Repair> place_attention(const RepairContext& context, const Node& node) {
  if (context.attention != AttentionForm::kInt8) return std::nullopt;
  const auto attention = attention_around(context, node);
  if (!attention || !int8_kernel_takes(*attention)) return std::nullopt;
  return CodePlaces(context, *attention).next();
}

} // namespace octet
