// SPDX-License-Identifier: Apache-2.0
//   Einsum(a, b)       =>    products of what is summed as MatMul, of what is not as Mul
//   Einsum(a, b, ...)  =>    Einsum(Einsum(a, b), ...)
//   Einsum(a)          =>    ReduceSum, Transpose
// Rounding: equal in real arithmetic.
#include "ops/shared/einsum.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <span>

#include "passes/lower/chains.h"
#include "passes/lower/context.h"
#include "passes/reshape_target.h"

namespace octet::lowering {
namespace {

using Labels = EinsumLabels;

bool has(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

template <class Keep>
Labels those(const Labels& labels, Keep keep) {
  Labels out;
  std::copy_if(labels.begin(), labels.end(), std::back_inserter(out), keep);
  return out;
}

Labels joined(std::initializer_list<Labels> parts) {
  Labels out;
  for (const Labels& part : parts)
    out.insert(out.end(), part.begin(), part.end());
  return out;
}

/// A value on its way, with a label and a size for each axis.
struct Term {
  ValueId value;
  Labels labels;
  std::map<int, Dim> sizes;
  std::optional<Tensor> constant = {}; ///< then `value` may be of another order

  TypeInfo type() const {
    std::vector<Dim> shape;
    for (const int label : labels)
      shape.push_back(sizes.at(label));
    return {DType::kFloat32, std::move(shape), {}};
  }
};

class Decomposition {
 public:
  Decomposition(const RuleContext& context, const Node& node, Patch& patch)
      : context_(context), node_(node), patch_(patch) {}

  /// The operands with the labels of the equation, or nothing where they are not taken.
  std::optional<std::vector<Term>> terms(const EinsumEquation& equation) const {
    std::vector<Term> out;
    for (size_t i = 0; i < equation.inputs.size(); ++i) {
      Term term{node_.inputs[i], equation.inputs[i], {}, {}};
      if (const Tensor* t = context_.graph.constant(term.value)) term.constant = *t;
      const TypeInfo& type = context_.graph.value(term.value).type;
      for (size_t k = 0; k < term.labels.size(); ++k)
        if (!term.sizes.emplace(term.labels[k], (*type.shape)[k]).second) return std::nullopt;
      out.push_back(std::move(term));
    }
    return out;
  }

  /// Sums the axes that nothing else has.
  Term sum(Term x, const Labels& needed) {
    std::vector<int64_t> axes;
    for (size_t k = 0; k < x.labels.size(); ++k)
      if (!has(needed, x.labels[k])) axes.push_back(static_cast<int64_t>(k));
    if (axes.empty()) return x;
    x.constant.reset();
    x.labels = those(x.labels, [&](int label) { return has(needed, label); });
    Attributes attributes;
    attributes["keepdims"].value = int64_t{0};
    x.value = with_axes("ReduceSum", x.value, std::move(axes), std::move(attributes));
    return x;
  }

  Term ordered(Term x, const Labels& wanted) {
    if (x.labels == wanted) return x;
    std::vector<int64_t> perm;
    for (const int label : wanted)
      perm.push_back(std::find(x.labels.begin(), x.labels.end(), label) - x.labels.begin());
    x.labels = wanted;
    if (x.constant) {
      x.constant = permuted(*x.constant, perm);
      x.value = patch_.constant(name("weights"), *x.constant);
      return x;
    }
    Attributes attributes;
    attributes["perm"].value = std::move(perm);
    x.value = patch_.emit("Transpose", {x.value}, std::move(attributes), name("transpose"));
    return x;
  }

  /// Element by element, in the order of `out`; what an operand lacks broadcasts.
  Term multiply(Term a, Term b, const Labels& out) {
    for (Term* x : {&a, &b}) {
      *x = ordered(*x, those(out, [&](int label) { return has(x->labels, label); }));
      std::vector<int64_t> axes;
      for (size_t k = 0; k < out.size(); ++k)
        if (!has(x->labels, out[k])) axes.push_back(static_cast<int64_t>(k));
      if (!axes.empty()) x->value = with_axes("Unsqueeze", x->value, std::move(axes), {});
    }
    return {patch_.emit("Mul", {a.value, b.value}, {}, name("mul")), out, {}, {}};
  }

  /// The product that sums what both have and `out` lacks.
  std::optional<Term> product(Term a, Term b, const Labels& out) {
    const auto in_both = [&](int label) { return has(a.labels, label) && has(b.labels, label); };
    const Labels batch = those(out, in_both);
    const Labels inner = those(a.labels, [&](int l) { return in_both(l) && !has(out, l); });
    if (inner.empty()) return multiply(std::move(a), std::move(b), out);
    for (const int label : inner)
      if (!(a.sizes.at(label) == b.sizes.at(label))) return std::nullopt;
    // Constant weights stand on the right.
    if (batch.empty() && a.constant) std::swap(a, b);
    Labels rows = those(out, [&](int l) { return has(a.labels, l) && !has(b.labels, l); });
    const Labels columns = those(out, [&](int l) { return has(b.labels, l) && !has(a.labels, l); });
    // MatMul takes any number of rows' axes where the right side is one matrix.
    const bool one_matrix = batch.empty() && !rows.empty();
    // Axes of more than one open size cannot be told apart again: those of a stand in front, where
    // b broadcasts.
    Labels outer;
    if (!one_matrix && rows.size() > 1 && open_sizes(a, rows) + open_sizes(b, columns) > 1) {
      outer.assign(rows.begin(), rows.end() - 1);
      rows.erase(rows.begin(), rows.end() - 1);
    }
    a = ordered(std::move(a), joined({outer, batch, rows, inner}));
    b = ordered(std::move(b), joined({batch, inner, columns}));
    std::vector<Labels> of_a, of_b, of_y;
    for (const int label : outer)
      of_a.push_back({label}), of_y.push_back({label});
    for (const int label : batch)
      of_a.push_back({label}), of_b.push_back({label}), of_y.push_back({label});
    if (one_matrix) {
      for (const int label : rows)
        of_a.push_back({label}), of_y.push_back({label});
    } else {
      of_a.push_back(rows), of_y.push_back(rows);
    }
    of_a.push_back(inner), of_b.push_back(inner);
    of_b.push_back(columns), of_y.push_back(columns);
    const auto left = merged(a, of_a), right = merged(b, of_b);
    if (!left || !right) return std::nullopt;
    Term y{patch_.emit("MatMul", {*left, *right}, {}, name("matmul")), {}, {}, {}};
    y.labels = joined({outer, batch, rows, columns});
    for (const int label : y.labels) {
      const auto in_a = a.sizes.find(label), in_b = b.sizes.find(label);
      const bool from_a =
          in_b == b.sizes.end() || (in_a != a.sizes.end() && in_b->second == Dim(1));
      y.sizes[label] = from_a ? in_a->second : in_b->second;
    }
    return split(std::move(y), of_y);
  }

 private:
  static int64_t open_sizes(const Term& x, const Labels& labels) {
    return std::count_if(labels.begin(), labels.end(),
                         [&](int label) { return !x.sizes.at(label).is_constant(); });
  }

  std::string name(const char* part) const { return node_.name + "/" + part; }

  /// An operator whose axes are an attribute before operator set 13.
  ValueId with_axes(const char* op, ValueId x, std::vector<int64_t> axes, Attributes attributes) {
    if (context_.graph.opset() < 13) {
      attributes["axes"].value = std::move(axes);
      return patch_.emit(op, {x}, std::move(attributes), name(op));
    }
    const Tensor list =
        Tensor::of<int64_t>({static_cast<int64_t>(axes.size())}, std::span<const int64_t>(axes));
    return patch_.emit(op, {x, patch_.constant(name("axes"), list)}, std::move(attributes),
                       name(op));
  }

  static bool each_alone(const std::vector<Labels>& groups) {
    return std::all_of(groups.begin(), groups.end(),
                       [](const Labels& group) { return group.size() == 1; });
  }

  static std::vector<Dim> merged_sizes(const Term& x, const std::vector<Labels>& groups) {
    std::vector<Dim> out;
    out.reserve(groups.size());
    for (const Labels& group : groups)
      out.push_back(std::accumulate(group.begin(), group.end(), Dim(1),
                                    [&](const Dim& d, int l) { return d * x.sizes.at(l); }));
    return out;
  }

  std::optional<ValueId> reshaped(ValueId x, const TypeInfo& from, const std::vector<Dim>& wanted) {
    const auto target = reshape_target(from, wanted);
    if (!target) return std::nullopt;
    const Tensor shape = Tensor::of<int64_t>({static_cast<int64_t>(target->size())},
                                             std::span<const int64_t>(*target));
    return patch_.emit("Reshape", {x, patch_.constant(name("shape"), shape)}, {}, name("reshape"));
  }

  /// One axis for each group, of size 1 for an empty one.
  std::optional<ValueId> merged(const Term& x, const std::vector<Labels>& groups) {
    if (each_alone(groups)) return x.value;
    if (x.constant) {
      Shape shape;
      for (const Dim& d : merged_sizes(x, groups))
        shape.push_back(d.value());
      auto made = x.constant->reshaped(shape);
      if (!made.ok()) return std::nullopt;
      return patch_.constant(name("weights"), std::move(*made));
    }
    return reshaped(x.value, x.type(), merged_sizes(x, groups));
  }

  /// Back to one axis for each label.
  std::optional<Term> split(Term y, const std::vector<Labels>& groups) {
    if (each_alone(groups)) return y;
    const TypeInfo from{DType::kFloat32, merged_sizes(y, groups), {}};
    const auto value = reshaped(y.value, from, *y.type().shape);
    if (!value) return std::nullopt;
    y.value = *value;
    return y;
  }

  const RuleContext& context_;
  const Node& node_;
  Patch& patch_;
};

/// An equation of letters alone.
std::string written(const std::vector<Labels>& inputs, const Labels& output) {
  std::map<int, char> letters;
  const auto term = [&](const Labels& labels) {
    std::string out;
    for (const int label : labels) {
      const size_t next = letters.size();
      const auto letter = static_cast<char>(next < 26 ? 'a' + next : 'A' + (next - 26));
      out += letters.emplace(label, letter).first->second;
    }
    return out;
  };
  std::string out = term(inputs.front());
  for (const Labels& labels : std::span(inputs).subspan(1))
    out += "," + term(labels); // the first may have no letter
  return out + "->" + term(output);
}

/// The first two operands by themselves, with what the others or the output need of them.
void split_first_two(const Node& node, const EinsumEquation& e, Patch& patch) {
  std::vector<Labels> others(e.inputs.begin() + 2, e.inputs.end());
  Labels needed = e.output, both = joined({e.inputs[0], e.inputs[1]});
  for (const Labels& labels : others)
    needed = joined({needed, labels});
  Labels middle;
  for (const int label : both)
    if (has(needed, label) && !has(middle, label)) middle.push_back(label);
  Attributes first, rest;
  first["equation"].value = written({e.inputs[0], e.inputs[1]}, middle);
  others.insert(others.begin(), middle);
  rest["equation"].value = written(others, e.output);
  std::vector<ValueId> inputs = {
      patch.emit("Einsum", {node.inputs[0], node.inputs[1]}, first, node.name + "/first")};
  inputs.insert(inputs.end(), node.inputs.begin() + 2, node.inputs.end());
  patch.replace(node.output(0), patch.emit("Einsum", inputs, rest, node.name));
}

} // namespace

std::optional<Patch> decompose_einsum(const RuleContext& c, const Node& node) {
  if (!node.is("Einsum") || node.inputs.empty()) return std::nullopt;
  std::vector<int64_t> ranks;
  for (const ValueId id : node.inputs) {
    const TypeInfo& type = c.graph.value(id).type;
    if (type.type != DType::kFloat32 || !type.has_rank()) return std::nullopt;
    ranks.push_back(type.rank());
  }
  const auto e = parse_einsum(node.attr_string("equation", ""), ranks);
  if (!e.ok()) return std::nullopt;
  Labels all;
  for (const Labels& labels : e->inputs)
    all = joined({all, labels});
  constexpr size_t kLetters = 52;
  if (std::set<int>(all.begin(), all.end()).size() > kLetters) return std::nullopt;
  Patch patch(c.graph, "the products of an Einsum are MatMul", Exactness::kRounding);
  patch.from(node);
  Decomposition d(c, node, patch);
  auto terms = d.terms(*e);
  if (!terms) return std::nullopt;
  if (terms->size() > 2) {
    split_first_two(node, *e, patch);
    return patch;
  }
  std::optional<Term> y;
  if (terms->size() == 1) {
    y = d.sum(terms->front(), e->output);
  } else {
    Term &a = terms->front(), &b = terms->back();
    const Labels of_a = joined({e->output, b.labels}), of_b = joined({e->output, a.labels});
    y = d.product(d.sum(a, of_a), d.sum(b, of_b), e->output);
  }
  if (!y) return std::nullopt;
  const Term end = d.ordered(*y, e->output);
  if (end.constant && c.graph.is_output(node.output(0))) return std::nullopt;
  if (end.value == node.inputs[0] && !can_replace(c.graph, node.output(0), end.value))
    return std::nullopt;
  patch.replace(node.output(0), end.value);
  return patch;
}

} // namespace octet::lowering
