// SPDX-License-Identifier: Apache-2.0
//   Attention(x, W, b, mask, -, bias) of com.microsoft
//        =>    q, k, v = x W + b in three products, split into heads
//              softmax(q scale * k^T [+ mask] [+ bias]) v, heads put together
//   QAttention(x, W, b, s_x, s_w, mask, z_x, z_w)
//        =>    the same with DQ(x) and DQ(W), or with MatMulInteger(x, W) times s_x s_w, which
//        keeps
//              exact sums of codes whose scale is taken at every run
//   Attention(x, DQ(W), DQ(b), ...)
//        =>    the same with DQ of each product's columns, and b as the float values that it means
// Rounding. The scale stands at q, where TensorRT's fused attention wants it. Wanted: constant
// weights, no earlier keys, no causal mask beside codes, a mask of lengths, of keys or of queries and
// keys.
#include <cmath>
#include <cstring>

#include "ops/evaluate.h"
#include "ops/qdq/site.h"
#include "passes/attention_parts.h"

namespace octet {

namespace {

/// Where both operators have what they share. 0: nowhere.
struct Places {
  size_t mask, past, bias, key_positions;
};
constexpr Places kAttention = {3, 4, 5, 6};
constexpr Places kCoded = {5, 8, 0, 0};

bool given(const Node& node, size_t place) {
  return place != 0 && node.input(place).valid();
}

/// Columns `begin` to `begin + size` of a matrix or of a vector.
Tensor columns_of(const Tensor& t, int64_t begin, int64_t size) {
  Shape shape = t.shape();
  const int64_t row = shape.back();
  shape.back() = size;
  Tensor out = Tensor::zeros(t.type(), shape).value();
  const auto width = static_cast<size_t>(bytes_for(t.type(), 1));
  const auto to = out.mutable_bytes();
  const auto bytes = static_cast<size_t>(size) * width;
  for (int64_t r = 0; r < t.count() / row; ++r)
    std::memcpy(to.data() + static_cast<size_t>(r) * bytes,
                t.bytes().data() + static_cast<size_t>(r * row + begin) * width, bytes);
  return out;
}

/// The DQ behind a weight with one scale, or one for each column.
std::optional<qdq::Site> stored_weight(const Graph& g, ValueId weight) {
  const auto site = qdq::read_dequantize(g, weight, {.written_zero = false, .microsoft = false});
  const Tensor* codes = site ? g.constant(site->codes) : nullptr;
  if (codes == nullptr || codes->rank() != 2) return std::nullopt;
  const qdq::Grid& grid = site->grid;
  const bool columns = grid.axis == 1 && grid.count() == codes->dim(1) && g.opset() >= 13;
  return grid.per_tensor() || columns ? std::optional(*site) : std::nullopt;
}

enum class Projection { kFloat, kDequantized, kInteger };

class Decomposition {
 public:
  Decomposition(const RuleContext& c, const Node& node, const HeadSizes& heads, Projection kind)
      : g_(c.graph), node_(node), heads_(heads), coded_(kind != Projection::kFloat),
        integer_(kind == Projection::kInteger), place_(coded_ ? kCoded : kAttention),
        patch_(g_, node.op_type + " is products, softmax and movement", Exactness::kRounding),
        type_(g_.value(node.input(coded_ ? 3 : 0)).type.type), parts_(g_, node, patch_, type_),
        stored_(coded_ ? std::nullopt : stored_weight(g_, node.input(1))),
        bias_(constant_value(g_, node.input(2))), x_(node.input(0)) {
    patch_.from(node);
  }

  std::optional<Patch> run() {
    if (coded_ && !integer_) x_ = dequantize(x_, node_.input(3), node_.input(6), {}, name("x"));
    const int64_t size = heads_.query / heads_.count;
    const int64_t n = heads_.count;
    ValueId q = parts_.split(project("query", 0, heads_.query), "query", n, size, {0, 2, 1, 3});
    const ValueId k =
        parts_.split(project("key", heads_.query, heads_.query), "key", n, size, {0, 2, 3, 1});
    const ValueId v = parts_.split(project("value", 2 * heads_.query, heads_.value), "value", n,
                                   heads_.value / n, {0, 2, 1, 3});
    const double stated = static_cast<double>(node_.attr_float("scale", 0));
    const double scale = stated != 0 ? stated : 1 / std::sqrt(static_cast<double>(size));
    q = patch_.emit("Mul", {q, emit_number(patch_, name("scale_value"), type_, scale)}, {},
                    name("scale"));
    ValueId scores = patch_.emit("MatMul", {q, k}, {}, name("scores"));
    if (given(node_, place_.mask)) {
      const ValueId mask = parts_.mask_term(node_.input(place_.mask));
      if (!mask.valid()) return std::nullopt;
      scores = patch_.emit("Add", {scores, mask}, {}, name("masked"));
    }
    if (node_.attr_int("unidirectional", 0) != 0) {
      const ValueId causal = parts_.causal_term({node_.input(0)}, {node_.input(0)});
      scores = patch_.emit("Add", {scores, causal}, {}, name("seen"));
    }
    if (given(node_, place_.bias))
      scores = patch_.emit("Add", {scores, node_.input(place_.bias)}, {}, name("biased"));
    const ValueId p = parts_.softmax(scores);
    const ValueId mixed = patch_.emit("MatMul", {p, v}, {}, name("mixed"));
    patch_.replace(node_.output(0), parts_.join(mixed, heads_.value, node_.name));
    return std::move(patch_);
  }

 private:
  std::string name(const char* part) const { return parts_.name(part); }

  ValueId project(const char* part, int64_t begin, int64_t size) {
    const std::string base = name(part);
    const ValueId codes = stored_ ? stored_->codes : node_.input(1);
    ValueId w = columns(codes, base + ".weight", begin, size);
    if (coded_ || stored_) {
      const ValueId scale = stored_ ? stored_->scale : node_.input(4);
      const ValueId zero = stored_ ? stored_->zero : node_.input(7);
      Attributes axis;
      if (g_.constant(scale)->count() > 1) axis["axis"].value = int64_t{1};
      const ValueId scales = columns(scale, base + ".weight_scale", begin, size);
      const ValueId zeros = own_columns(zero, base + ".weight_zero_point", begin, size);
      if (integer_) return biased(integer_product(w, scales, zeros, base), base, begin, size);
      w = dequantize(w, scales, zeros, std::move(axis), base + ".weight_values");
    }
    return biased(patch_.emit("MatMul", {x_, w}, {}, base + "/product"), base, begin, size);
  }

  /// x W with the exact sums of codes.
  ValueId integer_product(ValueId w, ValueId scales, ValueId zeros, const std::string& base) {
    const ValueId sums =
        patch_.emit("MatMulInteger", {x_, w, node_.input(6), zeros}, {}, base + "/sums");
    Attributes to;
    to["to"].value = static_cast<int64_t>(type_);
    const ValueId real = patch_.emit("Cast", {sums}, std::move(to), base + "/real_sums");
    const ValueId factor = patch_.emit("Mul", {node_.input(3), scales}, {}, base + "/factor");
    return patch_.emit("Mul", {real, factor}, {}, base + "/product");
  }

  ValueId biased(ValueId product, const std::string& base, int64_t begin, int64_t size) {
    if (!bias_) return product;
    const ValueId row = patch_.constant(base + ".bias", columns_of(*bias_, begin, size));
    return patch_.emit("Add", {product, row}, {}, base);
  }

  /// The columns of a constant; the constant itself where it is one number or none.
  ValueId columns(ValueId id, const std::string& as, int64_t begin, int64_t size) {
    if (!id.valid() || g_.constant(id)->count() == 1) return id;
    return patch_.constant(as, columns_of(*g_.constant(id), begin, size));
  }

  /// Never the constant itself: ONNX Runtime's exact mode refuses zero points of several weights.
  ValueId own_columns(ValueId id, const std::string& as, int64_t begin, int64_t size) {
    const ValueId out = columns(id, as, begin, size);
    return out.valid() && out == id ? patch_.constant(as, *g_.constant(id)) : out;
  }

  ValueId dequantize(
      ValueId codes, ValueId scale, ValueId zero, Attributes attributes, const std::string& as) {
    std::vector<ValueId> inputs = {codes, scale};
    if (zero.valid()) inputs.push_back(zero);
    return patch_.emit("DequantizeLinear", std::move(inputs), std::move(attributes), as);
  }

  const Graph& g_;
  const Node& node_;
  HeadSizes heads_;
  bool coded_, integer_;
  Places place_;
  Patch patch_;
  DType type_;
  AttentionParts parts_;
  std::optional<qdq::Site> stored_; ///< DQ of the weights, where they are codes
  std::optional<Tensor> bias_;
  ValueId x_; ///< float
};

/// One number, or one for each column of the weights (as a vector); `optional`: or not given.
bool is_column_constant(const Graph& g, ValueId id, int64_t count, bool optional) {
  if (!id.valid()) return optional;
  const Tensor* t = g.constant(id);
  return t != nullptr && (t->count() == 1 || (t->rank() == 1 && t->count() == count));
}

/// Scales and zero points of weights as DQ takes them: as many of each.
bool fits_dequantize(const Graph& g, const Node& node, int64_t columns) {
  const ValueId scale = node.input(4), zero = node.input(7);
  if (!is_column_constant(g, scale, columns, false) || !is_column_constant(g, zero, columns, true))
    return false;
  const int64_t scales = g.constant(scale)->count();
  return (scales == 1 || g.opset() >= 13) &&
         (!zero.valid() || g.constant(zero)->count() == scales) &&
         g.value(node.input(3)).type.static_shape().has_value();
}

std::optional<Patch> decompose(const RuleContext& context, const Node& node, Projection kind) {
  const Graph& g = context.graph;
  const bool coded = kind != Projection::kFloat;
  if ((!coded && !node.is("Attention", kMicrosoft)) || g.opset() < 11) return std::nullopt;
  const auto stored = coded ? std::nullopt : stored_weight(g, node.input(1));
  const Tensor* w = g.constant(stored ? stored->codes : node.input(1));
  if (w == nullptr || w->rank() != 2 ||
      (node.input(2).valid() && !constant_value(g, node.input(2))))
    return std::nullopt;
  if (coded && !fits_dequantize(g, node, w->dim(1))) return std::nullopt;
  const Places& place = coded ? kCoded : kAttention;
  const bool causal = node.attr_int("unidirectional", 0) != 0;
  const bool plain = !given(node, place.past) && !given(node, place.key_positions) &&
                     !(causal && coded) && node.attr_int("do_rotary", 0) == 0;
  if (!plain || (node.outputs.size() > 1 && context.uses.count(node.output(1)) > 0))
    return std::nullopt;
  const TypeInfo& x = g.value(node.input(0)).type;
  if ((!coded && !is_float(x.type)) || !x.has_rank() || x.rank() != 3) return std::nullopt;
  const auto heads = head_sizes(node, w->dim(1));
  if (!heads) return std::nullopt;
  return Decomposition(context, node, *heads, kind).run();
}

} // namespace

std::optional<Patch> decompose_attention(const RuleContext& context, const Node& node) {
  const bool coded = node.is("QAttention", kMicrosoft);
  return decompose(context, node, coded ? Projection::kDequantized : Projection::kFloat);
}

std::optional<Patch> decompose_integer_attention(const RuleContext& context, const Node& node) {
  if (!node.is("QAttention", kMicrosoft) || context.graph.constant(node.input(3)) != nullptr)
    return std::nullopt;
  return decompose(context, node, Projection::kInteger);
}

} // namespace octet
