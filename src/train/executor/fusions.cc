// SPDX-License-Identifier: Apache-2.0
// Matching and running groups of nodes.
#include "train/executor/fusions.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "train/fp8/layer.h"
#include "train/ops/dropout.h"
#include <ATen/ops/addmm.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/native_layer_norm.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/softmax.h>

namespace octet::train {
namespace {

/// Walks from a value to the nodes behind it and remembers those that belong to the group.
class Matcher {
 public:
  explicit Matcher(const Graph& graph) : graph_(graph) {}

  /// The node of that type that makes `v`, taken into the group; null: another one.
  const Node* take(ValueId v, const char* type) {
    const Node* node = v.valid() ? graph_.producer(v) : nullptr;
    if (node == nullptr || !node->is(type)) return nullptr;
    fusion.nodes.push_back(node->id);
    return node;
  }
  /// The one number that a constant holds.
  std::optional<double> number(ValueId v) const {
    const octet::Tensor* t = v.valid() ? graph_.constant(v) : nullptr;
    if (t == nullptr || t->count() != 1 || !is_float(t->type())) return std::nullopt;
    return t->at(0);
  }
  bool is_number(ValueId v, double expected) const {
    const std::optional<double> value = number(v);
    return value && std::abs(*value - expected) < 1e-6 * std::max(1.0, std::abs(expected));
  }
  /// For an operator that commutes: the input that is the constant `expected`; the other one.
  ValueId beside(const Node& node, double expected) const {
    if (is_number(node.input(1), expected)) return node.input(0);
    if (is_number(node.input(0), expected)) return node.input(1);
    return {};
  }
  int64_t rank(ValueId v) const {
    const TypeInfo& type = graph_.value(v).type;
    return type.has_rank() ? type.rank() : -1;
  }
  const Graph& graph() const { return graph_; }

  Fusion fusion;

 private:
  const Graph& graph_;
};

Apply linear() {
  return [](Call& c) {
    const at::Tensor& x = c.in(0);
    std::vector<int64_t> shape = x.sizes().vec();
    shape.back() = c.in(1).size(1);
    const at::Tensor rows = x.dim() == 2 ? x : x.reshape({-1, x.size(-1)});
    const at::Tensor y = c.fp8() != nullptr
                             ? c.fp8()->linear(rows, c.in(1), c.run().training) + c.in(2)
                             : at::addmm(c.in(2), rows, c.in(1));
    c.out(y.view(shape));
  };
}

bool match_linear(Matcher& m, const Node& last) {
  if (!last.is("Add")) return false;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const Node* product = m.graph().producer(last.inputs[side]);
    const ValueId bias = last.inputs[1 - side];
    if (product == nullptr || !product->is("MatMul") || m.rank(bias) != 1 ||
        m.rank(product->inputs[1]) != 2 || m.rank(product->inputs[0]) < 2)
      continue;
    const auto width = [&](ValueId v) {
      return m.graph().value(v).type.shape->back().maybe_value().value_or(-1);
    };
    if (width(bias) < 1 || width(bias) != width(product->inputs[1])) continue;
    m.take(last.inputs[side], "MatMul");
    m.fusion.inputs = {product->inputs[0], product->inputs[1], bias};
    m.fusion.apply = linear();
    m.fusion.is_linear = true;
    return true;
  }
  return false;
}

/// The factors of a product of two or three, through one inner product.
std::vector<ValueId> factors(Matcher& m, const Node& last) {
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const Node* inner = m.graph().producer(last.inputs[side]);
    if (inner == nullptr || !inner->is("Mul")) continue;
    m.take(last.inputs[side], "Mul");
    return {inner->inputs[0], inner->inputs[1], last.inputs[1 - side]};
  }
  return {};
}

bool match_gelu(Matcher& m, const Node& last) {
  if (!last.is("Mul")) return false;
  std::vector<ValueId> parts = factors(m, last);
  const auto half =
      std::find_if(parts.begin(), parts.end(), [&](ValueId v) { return m.is_number(v, 0.5); });
  if (half == parts.end()) return false;
  parts.erase(half);
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const ValueId x = parts[1 - side];
    const Node* sum = m.graph().producer(parts[side]);
    if (sum == nullptr || !sum->is("Add")) continue;
    const ValueId erf_out = m.beside(*sum, 1);
    const Node* erf = erf_out.valid() ? m.graph().producer(erf_out) : nullptr;
    if (erf == nullptr || !erf->is("Erf")) continue;
    const Node* scaled = m.graph().producer(erf->inputs[0]);
    if (scaled == nullptr) continue;
    const bool divided = scaled->is("Div") && scaled->inputs[0] == x &&
                         m.is_number(scaled->inputs[1], std::numbers::sqrt2);
    const bool times = scaled->is("Mul") && m.beside(*scaled, std::numbers::sqrt2 / 2) == x;
    if (!divided && !times) continue;
    for (const Node* node : {sum, erf, scaled})
      m.fusion.nodes.push_back(node->id);
    m.fusion.inputs = {x};
    m.fusion.apply = [](Call& c) { c.out(at::gelu(c.in(0))); };
    return true;
  }
  return false;
}

/// The input of a mean over the last axis that keeps it.
const Node* take_mean(Matcher& m, ValueId v) {
  const Node* mean = m.take(v, "ReduceMean");
  if (mean == nullptr || mean->attr_int("keepdims", 1) == 0) return nullptr;
  std::vector<int64_t> axes = mean->attr_ints("axes");
  if (const octet::Tensor* given =
          mean->input(1).valid() ? m.graph().constant(mean->input(1)) : nullptr;
      given != nullptr && given->count() == 1)
    axes = {static_cast<int64_t>(given->at(0))};
  const int64_t rank = m.rank(mean->inputs[0]);
  return axes.size() == 1 && (axes[0] == -1 || axes[0] == rank - 1) && rank > 0 ? mean : nullptr;
}

bool match_layer_norm(Matcher& m, const Node& last) {
  if (!last.is("Add")) return false;
  const Node* scaled = m.take(last.inputs[0], "Mul");
  if (scaled == nullptr) return false;
  const Node* divided = m.take(scaled->inputs[0], "Div");
  if (divided == nullptr || m.rank(scaled->inputs[1]) != 1 || m.rank(last.inputs[1]) != 1)
    return false;
  const Node* centred = m.take(divided->inputs[0], "Sub");
  const Node* root = m.take(divided->inputs[1], "Sqrt");
  if (centred == nullptr || root == nullptr) return false;
  const Node* mean = take_mean(m, centred->inputs[1]);
  const Node* shifted = m.take(root->inputs[0], "Add");
  if (mean == nullptr || shifted == nullptr || mean->inputs[0] != centred->inputs[0]) return false;
  const std::optional<double> epsilon = m.number(shifted->inputs[1]);
  const Node* variance = take_mean(m, shifted->inputs[0]);
  if (!epsilon || variance == nullptr) return false;
  const ValueId difference = divided->inputs[0];
  const Node* square = m.take(variance->inputs[0], "Pow");
  const bool powered =
      square != nullptr && square->inputs[0] == difference && m.is_number(square->inputs[1], 2);
  if (square == nullptr) square = m.take(variance->inputs[0], "Mul");
  if (!powered &&
      (square == nullptr || square->inputs[0] != difference || square->inputs[1] != difference))
    return false;
  m.fusion.inputs = {mean->inputs[0], scaled->inputs[1], last.inputs[1]};
  m.fusion.apply = [e = *epsilon](Call& c) {
    c.out(std::get<0>(at::native_layer_norm(c.in(0), {c.in(0).size(-1)}, c.in(1), c.in(2), e)));
  };
  return true;
}

/// q, k^T and v, all [N, heads, ., .].
struct Attention {
  double scale = 1;
  double dropout = 0;
  int dropout_node = 0;
  bool mask = false;
};

Apply run_attention(const Attention& a) {
  return [a](Call& c) {
    const at::Tensor &q = c.in(0), &turned = c.in(1), &v = c.in(2);
    const std::optional<at::Tensor> mask =
        a.mask ? std::optional(c.in(3).to(q.scalar_type())) : std::nullopt;
    if (a.dropout == 0 || !c.run().training) {
      c.out(at::scaled_dot_product_attention(q, turned.transpose(-2, -1), v, mask, 0.0, false,
                                             a.scale));
      return;
    }
    at::Tensor scores = at::matmul(a.scale == 1 ? q : q * a.scale, turned);
    if (mask) scores = scores + *mask;
    const at::Tensor weights = dropout(at::softmax(scores, -1), a.dropout, c.run(), a.dropout_node);
    c.out(at::matmul(weights, v));
  };
}

bool match_attention(Matcher& m, const Node& last) {
  if (!last.is("MatMul") || m.rank(last.inputs[0]) != 4 || m.rank(last.inputs[1]) != 4)
    return false;
  Attention a;
  ValueId v = last.inputs[0];
  if (const Node* drop = m.take(v, "Dropout"); drop != nullptr) {
    const std::optional<double> ratio = m.number(drop->input(1));
    if (!ratio || drop->outputs.size() != 1 || m.graph().opset() < 12) return false;
    a.dropout = *ratio;
    a.dropout_node = drop->id.index;
    v = drop->inputs[0];
  }
  const Node* softmax = m.take(v, "Softmax");
  if (softmax == nullptr || m.graph().opset() < 13) return false;
  const int64_t axis = softmax->attr_int("axis", -1);
  if (axis != -1 && axis != 3) return false;
  v = softmax->inputs[0];
  ValueId mask;
  if (const Node* add = m.take(v, "Add"); add != nullptr) {
    v = add->inputs[0];
    mask = add->inputs[1];
    if (m.rank(mask) != 4) return false;
  }
  for (const char* type : {"Mul", "Div"}) {
    const Node* scaled = m.take(v, type);
    if (scaled == nullptr) continue;
    const std::optional<double> factor = m.number(scaled->inputs[1]);
    if (!factor || *factor == 0) return false;
    a.scale = scaled->is("Mul") ? *factor : 1 / *factor;
    v = scaled->inputs[0];
    break;
  }
  const Node* scores = m.take(v, "MatMul");
  if (scores == nullptr || m.rank(scores->inputs[0]) != 4 || m.rank(scores->inputs[1]) != 4)
    return false;
  a.mask = mask.valid();
  m.fusion.inputs = {scores->inputs[0], scores->inputs[1], last.inputs[1]};
  if (a.mask) m.fusion.inputs.push_back(mask);
  m.fusion.apply = run_attention(a);
  return true;
}

/// Nothing outside of the group reads what is inside of it.
bool is_closed(const Graph& graph,
               const Uses& uses,
               const std::vector<ValueId>& wanted,
               const Fusion& fusion) {
  const std::set<NodeId> inside(fusion.nodes.begin(), fusion.nodes.end());
  for (const NodeId id : fusion.nodes) {
    if (id == fusion.nodes.back()) continue;
    for (const ValueId v : graph.node(id).outputs) {
      if (!v.valid()) continue;
      if (std::find(wanted.begin(), wanted.end(), v) != wanted.end()) return false;
      for (const Uses::Use& use : uses.of(v))
        if (!inside.contains(use.node)) return false;
    }
  }
  return true;
}

} // namespace

std::map<NodeId, Fusion>
find_fusions(const Graph& graph, const Uses& uses, const std::vector<ValueId>& wanted) {
  using Match = bool (*)(Matcher&, const Node&);
  constexpr Match kMatches[] = {match_attention, match_layer_norm, match_gelu, match_linear};
  std::map<NodeId, Fusion> found;
  std::set<NodeId> taken;
  for (const NodeId id : graph.nodes()) {
    const Node& last = graph.node(id);
    for (const Match match : kMatches) {
      Matcher m(graph);
      if (!match(m, last)) continue;
      m.fusion.nodes.push_back(id);
      const bool free = std::none_of(m.fusion.nodes.begin(), m.fusion.nodes.end(),
                                     [&](NodeId n) { return taken.contains(n); });
      if (!free || !is_closed(graph, uses, wanted, m.fusion)) continue;
      taken.insert(m.fusion.nodes.begin(), m.fusion.nodes.end());
      found.emplace(id, std::move(m.fusion));
      break;
    }
  }
  return found;
}

} // namespace octet::train
