// SPDX-License-Identifier: Apache-2.0
//   Add(r, product + bias)                       =>   Add(product + bias, r)
//   q a ─▶ MatMul(k b) ─▶ c ─▶ Add(mask)         =>   q ─▶ MatMul(k) ─▶ Div(root) ─▶ Add(mask)
//   m ─▶ casts, sums, Where, ... ─▶ mask         =>   m ─▶ Unsqueeze ─▶ Unsqueeze ─▶ Cast
//                                                       ─▶ 1 - it ─▶ times a number ─▶ mask
// The first is exact, the others round. Wanted: a b c = 1 / root, the root of a head's size; a mask
// of 0 and 1, which gives 0 for 1 and a number below -1000 for 0.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "graph/edit.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "passes/match.h"
#include "passes/standardize/raise_opset.h"
#include "targets/onnxruntime/ordered.h"

#include "octet/passes.h"

namespace octet {

namespace {

bool is_biased_product(const RuleContext& c, ValueId value) {
  const Node* add = made_by(c.graph, value, "Add");
  if (add == nullptr || !c.uses.single_consumer(value).valid()) return false;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const Node* product = made_by(c.graph, add->input(side), "MatMul");
    if (product != nullptr && c.graph.constant(product->input(1)) != nullptr &&
        c.graph.constant(add->input(1 - side)) != nullptr)
      return true;
  }
  return false;
}

std::optional<Patch> product_before_residual(const RuleContext& c, const Node& node) {
  if (!node.is("Add") || is_biased_product(c, node.input(0)) ||
      !is_biased_product(c, node.input(1)) || c.graph.constant(node.input(0)) != nullptr)
    return std::nullopt;
  Patch patch(c.graph, "the product first, as the fused one has it", Exactness::kExact);
  patch.set_input(node.id, 0, node.input(1));
  patch.set_input(node.id, 1, node.input(0));
  return patch;
}

/// A value times a number.
struct Scaled {
  ValueId x;
  double factor = 1;
};
std::optional<Scaled> times_number(const Graph& g, const Node& node) {
  if (node.inputs.size() != 2) return std::nullopt;
  for (const size_t side : {size_t{1}, size_t{0}}) {
    const auto n = number(g, node.input(side));
    const TypeInfo& x = g.value(node.input(1 - side)).type;
    if (!n || *n == 0 || !x.has_rank() || g.constant(node.input(side))->rank() > x.rank()) continue;
    if (node.is("Mul")) return Scaled{node.input(1 - side), *n};
    if (node.is("Div") && side == 1) return Scaled{node.input(0), 1 / *n};
  }
  return std::nullopt;
}

/// Takes the factors out of q, k and the scores of one softmax.
class ScoresDivider {
 public:
  ScoresDivider(const RuleContext& c, const Node& softmax)
      : c_(c), g_(c.graph), softmax_(softmax) {}

  std::optional<Patch> run() {
    const Node* masked = before(softmax_, 0);
    if (masked == nullptr || !masked->is("Add")) return std::nullopt;
    for (const size_t side : {size_t{0}, size_t{1}}) {
      Patch patch(g_, "the scale as a division of the scores", Exactness::kRounding);
      if (auto out = divided(*masked, side, std::move(patch))) return out;
    }
    return std::nullopt;
  }

 private:
  const Node* before(const Node& reader, size_t i) const {
    const ValueId value = reader.input(i);
    const Node* maker = value.valid() ? g_.producer(value) : nullptr;
    return maker != nullptr && c_.uses.single_consumer(value) == reader.id ? maker : nullptr;
  }

  /// The factors directly before an input; the value behind them.
  ValueId without_factors(const Node& reader, size_t i, double& total, int& count) const {
    ValueId value = reader.input(i);
    for (const Node* maker = before(reader, i); maker != nullptr;
         maker = before(*maker, maker->input(0) == value ? 0 : 1)) {
      const auto scaled = times_number(g_, *maker);
      if (!scaled) break;
      total *= scaled->factor;
      ++count;
      value = scaled->x;
    }
    return value;
  }

  std::optional<Patch> divided(const Node& masked, size_t side, Patch patch) const {
    double total = 1;
    int count = 0, before_product = 0;
    const ValueId scores = without_factors(masked, side, total, count);
    const Node* product = made_by(g_, scores, "MatMul");
    if (product == nullptr || g_.constant(product->input(1)) != nullptr) return std::nullopt;
    const TypeInfo& q = g_.value(product->input(0)).type;
    const auto size = q.has_rank() ? q.shape->back().maybe_value() : std::nullopt;
    if (!size || q.type != DType::kFloat32) return std::nullopt;
    for (const size_t i : {size_t{0}, size_t{1}})
      take_out(*product, i, total, before_product, patch);
    const double root = std::sqrt(static_cast<double>(*size));
    constexpr double kTolerance = 1e-5;
    if (std::abs(total * root - 1) > kTolerance) return std::nullopt;
    const Node* last = before(masked, 0);
    if (count == 1 && before_product == 0 && side == 0 && last != nullptr && last->is("Div"))
      return std::nullopt;
    patch.from(masked);
    const ValueId divisor =
        patch.constant(product->name + "/root", Tensor::scalar(static_cast<float>(root)));
    const ValueId y = patch.emit("Div", {scores, divisor}, {}, product->name + "/divided");
    const ValueId mask = masked.input(1 - side);
    patch.set_input(masked.id, 0, y);
    patch.set_input(masked.id, 1, mask);
    return patch;
  }

  /// Past what only moves, up to the first node that does more.
  void take_out(const Node& from, size_t input, double& total, int& count, Patch& patch) const {
    const Node* reader = &from;
    for (size_t i = input;;) {
      int here = 0;
      const ValueId value = without_factors(*reader, i, total, here);
      if (here > 0) patch.set_input(reader->id, i, value);
      count += here;
      const Node* maker = g_.producer(value);
      if (maker == nullptr || !(maker->is("Transpose") || maker->is("Reshape")) ||
          !c_.uses.single_consumer(value).valid())
        return;
      reader = maker;
      i = 0;
    }
  }

  const RuleContext& c_;
  const Graph& g_;
  const Node& softmax_;
};

std::optional<Patch> divide_scores(const RuleContext& c, const Node& node) {
  return node.is("Softmax") ? ScoresDivider(c, node).run() : std::nullopt;
}

/// What is computed, element by element, of one value and constants.
struct OfOneValue {
  ValueId root;
  std::vector<const Node*> nodes; ///< consumers before producers
};
std::optional<OfOneValue> of_one_value(const Graph& g, ValueId value) {
  constexpr std::string_view kElementwise =
      " Mul Sub Add Div Neg Cast Not Equal Greater Less GreaterOrEqual LessOrEqual Where Unsqueeze "
      "Reshape Identity ";
  constexpr size_t kMost = 32;
  OfOneValue out;
  std::set<NodeId> seen;
  std::vector<ValueId> open = {value};
  while (!open.empty()) {
    const ValueId at = open.back();
    open.pop_back();
    const Node* maker = g.producer(at);
    if (maker == nullptr || !maker->domain.empty() ||
        kElementwise.find(" " + maker->op_type + " ") == std::string_view::npos) {
      if (out.root.valid() && out.root != at) return std::nullopt;
      out.root = at;
      continue;
    }
    if (!seen.insert(maker->id).second) continue;
    if (seen.size() > kMost) return std::nullopt;
    out.nodes.push_back(maker);
    for (const ValueId in : maker->inputs)
      if (in.valid() && g.constant(in) == nullptr) open.push_back(in);
  }
  return out.root.valid() ? std::optional(std::move(out)) : std::nullopt;
}

/// What the mask adds for a key that counts, and for one that does not.
struct MaskNumbers {
  double present = 0, absent = 0;
};
std::optional<MaskNumbers> numbers_of(const Graph& g, const OfOneValue& of, ValueId mask) {
  Graph alone;
  alone.opsets = g.opsets;
  std::map<ValueId, ValueId> in_alone;
  // One key that counts, and others that do not.
  const TypeInfo& type = g.value(of.root).type;
  const int64_t rows = (*type.shape)[0].maybe_value().value_or(1);
  const int64_t keys = (*type.shape)[1].maybe_value().value_or(2);
  constexpr int64_t kMostElements = 1 << 20;
  if (rows < 1 || keys < 2 || rows > kMostElements / keys) return std::nullopt;
  std::vector<double> counts(static_cast<size_t>(rows * keys), 0.0);
  counts[0] = 1;
  const auto root = Tensor::from_doubles(type.type, {rows, keys}, counts);
  if (!root.ok()) return std::nullopt;
  in_alone[of.root] = alone.add_constant("root", *root);
  const auto order = g.topological();
  if (!order.ok()) return std::nullopt;
  for (const NodeId id : *order) {
    const Node& node = g.node(id);
    if (std::find(of.nodes.begin(), of.nodes.end(), &node) == of.nodes.end()) continue;
    std::vector<ValueId> inputs;
    for (const ValueId in : node.inputs) {
      if (in.valid() && !in_alone.contains(in))
        in_alone[in] = alone.add_constant(alone.unique_name("c"), *g.constant(in));
      inputs.push_back(in.valid() ? in_alone[in] : in);
    }
    in_alone[node.output(0)] =
        alone.emit(node.op_type, std::move(inputs), node.attributes, alone.unique_name("n"));
  }
  if (!infer_types(alone).ok()) return std::nullopt;
  const auto out = constant_value(alone, in_alone[mask]);
  const Shape want = {rows, 1, 1, keys};
  if (!out || out->type() != DType::kFloat32 ||
      !std::equal(want.begin(), want.end(), out->shape().begin(), out->shape().end()))
    return std::nullopt;
  for (int64_t i = 2; i < out->count(); ++i)
    if (out->at(i) != out->at(1)) return std::nullopt;
  return MaskNumbers{out->at(0), out->at(1)};
}

bool masks_keys(const TypeInfo& mask, const TypeInfo& root) {
  return mask.has_rank() && mask.rank() == 4 && mask.type == DType::kFloat32 && root.has_rank() &&
         root.rank() == 2 && is_integer(root.type) && (*mask.shape)[0] == (*root.shape)[0] &&
         (*mask.shape)[1] == Dim(1) && (*mask.shape)[2] == Dim(1) &&
         (*mask.shape)[3] == (*root.shape)[1];
}

/// Mul(Sub(_, Cast(Unsqueeze(Unsqueeze(_)))), _).
bool has_mask_form(const Graph& g, ValueId mask) {
  ValueId at = mask;
  constexpr std::pair<std::string_view, size_t> kForm[] = {
      {"Mul", 0}, {"Sub", 1}, {"Cast", 0}, {"Unsqueeze", 0}, {"Unsqueeze", 0}};
  for (const auto& [op, input] : kForm) {
    const Node* maker = made_by(g, at, op);
    if (maker == nullptr) return false;
    at = maker->input(input);
  }
  return true;
}

std::optional<Patch> mask_by_factor(const RuleContext& c, const Node& node) {
  constexpr double kMasks = -1000;
  const Graph& g = c.graph;
  if (!node.is("Softmax")) return std::nullopt;
  const Node* masked = made_by(g, node.input(0), "Add");
  if (masked == nullptr || has_mask_form(g, masked->input(1))) return std::nullopt;
  const ValueId mask = masked->input(1);
  const auto of = of_one_value(g, mask);
  if (!of || of->root == mask || !masks_keys(g.value(mask).type, g.value(of->root).type))
    return std::nullopt;
  const auto numbers = numbers_of(g, *of, mask);
  if (!numbers || numbers->present != 0 || !(numbers->absent <= kMasks)) return std::nullopt;
  const std::string name = g.value(mask).name;
  const auto factor = static_cast<float>(
      std::max(numbers->absent, static_cast<double>(std::numeric_limits<float>::lowest())));
  Patch patch(g, "0 and a number by 1 - mask", Exactness::kRounding);
  for (const Node* maker : of->nodes)
    patch.from(*maker);
  ValueId value = of->root;
  for (const int64_t axis : {1, 2})
    value = patch.emit(
        "Unsqueeze", {value, patch.constant(name + "/axis", int_list(std::vector<int64_t>{axis}))},
        {}, name + "/axis_" + std::to_string(axis));
  Attributes to;
  to["to"].value = static_cast<int64_t>(DType::kFloat32);
  value = patch.emit("Cast", {value}, std::move(to), name + "/cast");
  value = patch.emit("Sub", {patch.constant(name + "/one", Tensor::scalar(1.0F)), value}, {},
                     name + "/absent");
  value = patch.emit("Mul", {value, patch.constant(name + "/number", Tensor::scalar(factor))}, {},
                     name + "/masked");
  patch.replace(mask, value);
  return patch;
}

} // namespace

Status arrange_for_ordered(Graph& graph) {
  constexpr int64_t kLayerNormalization = 17;
  if (graph.opset() < kLayerNormalization) {
    OCTET_TRY(raise_opset(graph, kLayerNormalization));
    OCTET_TRY(simplify(graph));
    OCTET_TRY(infer_types(graph));
  }
  constexpr Rule kRules[] = {{"product_before_residual", product_before_residual},
                             {"divide_scores", divide_scores},
                             {"mask_by_factor", mask_by_factor}};
  OCTET_TRY(rewrite(graph, kRules));
  graph.remove_dead();
  return infer_types(graph);
}

} // namespace octet
