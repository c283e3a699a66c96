// SPDX-License-Identifier: Apache-2.0
// Forms of Gemm and MatMul that no kernel has, as those that one has:
//   Gemm(a, b, c) with transA, alpha, beta or any c  =>  Transpose, Gemm or MatMul, Mul, Add
//   MatMul of a vector                               =>  Reshape, MatMul, Reshape
//   MatMul of weights [1, .., K, N]                  =>  MatMul of [K, N]
// Rounding: equal in real arithmetic; alpha and beta are multiplied into constants.
#include <algorithm>

#include "graph/domains.h"
#include "passes/lower/chains.h"

namespace octet::lowering {
namespace {

bool is_matrix(const TypeInfo& type) {
  return type.type == DType::kFloat32 && type.has_rank() && type.rank() == 2;
}

/// A constant, or stored codes that stand for one, turned or not.
bool is_weight(const Graph& g, ValueId id) {
  if (g.constant(id) != nullptr) return true;
  const Node* node = g.producer(id);
  if (node != nullptr && node->is("Transpose")) node = g.producer(node->input(0));
  return node != nullptr && node->is("DequantizeLinear") && g.constant(node->input(0)) != nullptr;
}

Tensor scaled(const Tensor& t, float factor) {
  const Tensor from = t.aligned();
  std::vector<float> values(from.data<float>().begin(), from.data<float>().end());
  for (float& v : values)
    v *= factor;
  return Tensor::of<float>(t.shape(), std::span<const float>(values));
}

/// c for each of n columns, where it is the same for all rows.
std::optional<Tensor> as_bias(const Tensor& c, int64_t n) {
  if (c.type() != DType::kFloat32 || (c.count() != 1 && c.count() != n)) return std::nullopt;
  if (c.count() == n && c.rank() > 0 && c.shape().back() != n) return std::nullopt;
  const Tensor aligned = c.aligned();
  const auto from = aligned.data<float>();
  std::vector<float> out(static_cast<size_t>(n));
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = from[c.count() == 1 ? 0 : i];
  return Tensor::of<float>({n}, std::span<const float>(out));
}

/// A Gemm in parts.
class GemmParts {
 public:
  GemmParts(const Graph& g, const Node& node)
      : g_(g), node_(node), alpha_(node.attr_float("alpha", 1.0F)),
        beta_(node.attr_float("beta", 1.0F)), turned_(node.attr_int("transB", 0) != 0),
        patch_(g, "the Gemm is a product and what is added", Exactness::kRounding) {
    patch_.from(node);
  }

  /// Whether lower_gemm takes it as it is.
  bool is_plain() const {
    const ValueId c = node_.input(2);
    if (node_.attr_int("transA", 0) != 0 || alpha_ != 1.0F || !is_weight(g_, node_.input(1)))
      return false;
    if (!c.valid()) return true;
    const TypeInfo& type = g_.value(c).type;
    return beta_ == 1.0F && is_weight(g_, c) && type.has_rank() && type.rank() <= 1 &&
           type.static_shape() && columns() && count_of(*type.static_shape()) == *columns();
  }

  Patch parts() {
    ValueId a = node_.input(0);
    if (node_.attr_int("transA", 0) != 0) a = transposed(a);
    const std::optional<Tensor> bias = folded_bias();
    ValueId y = product(a, bias);
    if (alpha_ != 1.0F) y = patch_.emit("Mul", {y, number(alpha_)}, {}, name("alpha"));
    if (node_.input(2).valid() && !bias) y = patch_.emit("Add", {y, scaled_c()}, {}, name("add"));
    patch_.replace(node_.output(0), y);
    return std::move(patch_);
  }

 private:
  std::string name(const char* part) const { return node_.name + "/" + part; }

  static int64_t count_of(const Shape& shape) {
    int64_t n = 1;
    for (const int64_t d : shape)
      n *= d;
    return n;
  }

  std::optional<int64_t> columns() const {
    return (*g_.value(node_.input(1)).type.shape)[turned_ ? 0 : 1].maybe_value();
  }

  ValueId transposed(ValueId x) {
    Attributes attributes;
    attributes["perm"].value = std::vector<int64_t>{1, 0};
    return patch_.emit("Transpose", {x}, std::move(attributes), name("transpose"));
  }

  ValueId number(float value) {
    return patch_.constant(name("factor"), Tensor::scalar<float>(value));
  }

  /// beta c, where it can be the bias of a product with constant weights.
  std::optional<Tensor> folded_bias() const {
    const Tensor* c = g_.constant(node_.input(2));
    if (c == nullptr || !is_weight(g_, node_.input(1)) || !columns()) return std::nullopt;
    if (alpha_ != 1.0F && g_.constant(node_.input(1)) == nullptr) return std::nullopt;
    const auto bias = as_bias(*c, *columns());
    return bias ? std::optional(scaled(*bias, beta_)) : std::nullopt;
  }

  /// a b, with alpha where b is constant.
  ValueId product(ValueId a, const std::optional<Tensor>& bias) {
    ValueId b = node_.input(1);
    if (const Tensor* weights = g_.constant(b); weights != nullptr && alpha_ != 1.0F) {
      b = patch_.constant(name("weights"), scaled(*weights, alpha_));
      alpha_ = 1.0F;
    }
    if (!is_weight(g_, node_.input(1))) {
      if (turned_) b = transposed(b);
      return patch_.emit("MatMul", {a, b}, {}, node_.name);
    }
    std::vector<ValueId> inputs = {a, b};
    if (bias) inputs.push_back(patch_.constant(name("bias"), *bias));
    constexpr int64_t kWithoutBias = 11; // Gemm may leave c out from this operator set on
    if (!bias && g_.opset() < kWithoutBias)
      inputs.push_back(
          patch_.constant(name("bias"), *as_bias(Tensor::scalar<float>(-0.0F), *columns())));
    Attributes attributes;
    attributes["transB"].value = int64_t{turned_};
    return patch_.emit("Gemm", inputs, std::move(attributes), node_.name);
  }

  ValueId scaled_c() {
    const ValueId c = node_.input(2);
    if (beta_ == 1.0F) return c;
    if (const Tensor* t = g_.constant(c)) return patch_.constant(name("c"), scaled(*t, beta_));
    return patch_.emit("Mul", {c, number(beta_)}, {}, name("beta"));
  }

  const Graph& g_;
  const Node& node_;
  float alpha_, beta_;
  bool turned_;
  Patch patch_;
};

ValueId reshaped(Patch& patch, const Node& node, ValueId x, const std::vector<int64_t>& shape) {
  const Tensor target =
      Tensor::of<int64_t>({static_cast<int64_t>(shape.size())}, std::span<const int64_t>(shape));
  return patch.emit("Reshape", {x, patch.constant(node.name + "/shape", target)}, {},
                    node.name + "/reshape");
}

} // namespace

std::optional<Patch> split_gemm(const RuleContext& c, const Node& node) {
  const Graph& g = c.graph;
  if (!node.is("Gemm")) return std::nullopt;
  for (size_t i = 0; i < 2; ++i)
    if (!is_matrix(g.value(node.input(i)).type)) return std::nullopt;
  if (node.input(2).valid() && g.value(node.input(2)).type.type != DType::kFloat32)
    return std::nullopt;
  GemmParts gemm(g, node);
  if (gemm.is_plain()) return std::nullopt;
  return gemm.parts();
}

std::optional<Patch> multiply_matrices(const RuleContext& c, const Node& node) {
  const Graph& g = c.graph;
  if (!node.is("MatMul")) return std::nullopt;
  const TypeInfo &a = g.value(node.input(0)).type, &b = g.value(node.input(1)).type;
  if (a.type != DType::kFloat32 || !a.has_rank() || !b.has_rank()) return std::nullopt;
  Patch patch(g, "the product is one of matrices", Exactness::kExact);
  patch.from(node);
  const Tensor* weights = g.constant(node.input(1));
  if (a.rank() > 1 && b.rank() > 1) {
    const bool one_matrix = weights != nullptr && b.rank() > 2 && b.rank() <= a.rank() &&
                            std::all_of(weights->shape().begin(), weights->shape().end() - 2,
                                        [](int64_t d) { return d == 1; });
    if (!one_matrix) return std::nullopt;
    const auto matrix = weights->reshaped({weights->dim(b.rank() - 2), weights->dim(b.rank() - 1)});
    if (!matrix.ok()) return std::nullopt;
    const ValueId right = patch.constant(node.name + "/weights", *matrix);
    patch.replace(node.output(0), patch.emit("MatMul", {node.input(0), right}, {}, node.name));
    return patch;
  }
  // A vector is a row on the left, a column on the right, and its axis goes again.
  const auto whole = [](const TypeInfo& x) {
    const auto size = x.shape->back().maybe_value();
    return x.rank() != 1 || size.value_or(0) > 0;
  };
  const bool row = a.rank() == 1, column = b.rank() == 1;
  if (a.rank() == 0 || b.rank() == 0 || !whole(a) || !whole(b)) return std::nullopt;
  ValueId left = node.input(0), right = node.input(1);
  if (row) left = reshaped(patch, node, left, {1, a.shape->back().value()});
  if (column && weights != nullptr)
    right =
        patch.constant(node.name + "/weights", weights->reshaped({weights->count(), 1}).value());
  else if (column)
    right = reshaped(patch, node, right, {b.shape->back().value(), 1});
  const ValueId y = patch.emit("MatMul", {left, right}, {}, node.name);
  std::vector<int64_t> shape(static_cast<size_t>((row ? b : a).rank() - (column ? 1 : 2)), 0);
  if (row && !column) {
    const auto columns = b.shape->back().maybe_value();
    if (!columns || *columns == 0) return std::nullopt;
    shape.push_back(*columns);
  }
  if (row && column) shape.clear();
  patch.replace(node.output(0), reshaped(patch, node, y, shape));
  return patch;
}

} // namespace octet::lowering
