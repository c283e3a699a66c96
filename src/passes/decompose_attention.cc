// SPDX-License-Identifier: Apache-2.0
//   Attention(x, W, b, mask, -, bias) of com.microsoft
//        =>    q, k, v = x W + b in three products, split into heads
//              softmax(q scale * k^T [+ mask] [+ bias]) v, heads put together
//   QAttention(x, W, b, s_x, s_w, mask, z_x, z_w)
//        =>    the same with DQ(x) and DQ(W)
// Rounding. The scale stands at q, where TensorRT's fused attention wants it. Wanted: constant
// weights, no earlier keys, no causal mask, a mask of lengths, of keys or of queries and keys.
#include <cmath>
#include <cstring>

#include "passes/standard_operators.h"

namespace octet {

namespace {

struct Heads {
  int64_t count = 0, query = 0, value = 0; ///< heads, columns of q (and k), columns of v
};

std::optional<Heads> heads_of(const Node& node, int64_t columns) {
  Heads h{node.attr_int("num_heads", 0), columns / 3, columns / 3};
  const auto sizes = node.attr_ints("qkv_hidden_sizes");
  if (sizes.size() == 3) {
    h.query = sizes[0];
    h.value = sizes[2];
    if (sizes[1] != sizes[0]) return std::nullopt;
  }
  if (h.count < 1 || h.query < 1 || h.value < 1 || 2 * h.query + h.value != columns ||
      h.query % h.count != 0 || h.value % h.count != 0)
    return std::nullopt;
  return h;
}

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

class Decomposition {
 public:
  Decomposition(const RuleContext& c, const Node& node, const Heads& heads, bool coded)
      : g_(c.graph), node_(node), heads_(heads), coded_(coded), place_(coded ? kCoded : kAttention),
        patch_(g_, node.op_type + " is products, softmax and movement", Exactness::kRounding),
        type_(g_.value(node.input(coded ? 3 : 0)).type.type), x_(node.input(0)) {
    patch_.from(node);
  }

  std::optional<Patch> run() {
    if (coded_) x_ = dequantize(x_, node_.input(3), node_.input(6), {}, name("x"));
    const int64_t size = heads_.query / heads_.count;
    ValueId q = heads(project("query", 0, heads_.query), "query", size, {0, 2, 1, 3});
    const ValueId k = heads(project("key", heads_.query, heads_.query), "key", size, {0, 2, 3, 1});
    const ValueId v = heads(project("value", 2 * heads_.query, heads_.value), "value",
                            heads_.value / heads_.count, {0, 2, 1, 3});
    const double stated = static_cast<double>(node_.attr_float("scale", 0));
    const double scale = stated != 0 ? stated : 1 / std::sqrt(static_cast<double>(size));
    q = patch_.emit("Mul", {q, emit_number(patch_, name("scale_value"), type_, scale)}, {},
                    name("scale"));
    ValueId scores = patch_.emit("MatMul", {q, k}, {}, name("scores"));
    if (given(node_, place_.mask)) {
      const ValueId mask = mask_term();
      if (!mask.valid()) return std::nullopt;
      scores = patch_.emit("Add", {scores, mask}, {}, name("masked"));
    }
    if (given(node_, place_.bias))
      scores = patch_.emit("Add", {scores, node_.input(place_.bias)}, {}, name("biased"));
    Attributes axis, perm;
    axis["axis"].value = int64_t{g_.opset() < 11 ? 3 : -1};
    const ValueId p = patch_.emit("Softmax", {scores}, std::move(axis), name("softmax"));
    const ValueId mixed = patch_.emit("MatMul", {p, v}, {}, name("mixed"));
    perm["perm"].value = std::vector<int64_t>{0, 2, 1, 3};
    const ValueId back = patch_.emit("Transpose", {mixed}, std::move(perm), name("transpose"));
    const ValueId shape = emit_ints(patch_, name("shape"), {0, 0, heads_.value});
    patch_.replace(node_.output(0), patch_.emit("Reshape", {back, shape}, {}, node_.name));
    return std::move(patch_);
  }

 private:
  std::string name(const char* part) const { return node_.name + "/" + part; }

  ValueId project(const char* part, int64_t begin, int64_t size) {
    const std::string base = name(part);
    ValueId w = columns(1, base + ".weight", begin, size);
    if (coded_) {
      Attributes axis;
      if (g_.constant(node_.input(4))->count() > 1) axis["axis"].value = int64_t{1};
      w = dequantize(w, columns(4, base + ".weight_scale", begin, size),
                     columns(7, base + ".weight_zero_point", begin, size), std::move(axis),
                     base + ".weight_values");
    }
    const ValueId product = patch_.emit("MatMul", {x_, w}, {}, base + "/product");
    if (!node_.input(2).valid()) return product;
    return patch_.emit("Add", {product, columns(2, base + ".bias", begin, size)}, {}, base);
  }

  /// The columns of a constant input; the input itself where it is one number or none.
  ValueId columns(size_t input, const std::string& as, int64_t begin, int64_t size) {
    const ValueId id = node_.input(input);
    if (!id.valid() || g_.constant(id)->count() == 1) return id;
    return patch_.constant(as, columns_of(*g_.constant(id), begin, size));
  }

  ValueId dequantize(
      ValueId codes, ValueId scale, ValueId zero, Attributes attributes, const std::string& as) {
    std::vector<ValueId> inputs = {codes, scale};
    if (zero.valid()) inputs.push_back(zero);
    return patch_.emit("DequantizeLinear", std::move(inputs), std::move(attributes), as);
  }

  ValueId heads(ValueId x, const char* part, int64_t size, std::vector<int64_t> order) {
    const std::string base = name(part) + "_heads";
    const ValueId shape = emit_ints(patch_, base + "/shape", {0, 0, heads_.count, size});
    const ValueId split = patch_.emit("Reshape", {x, shape}, {}, base + "/split");
    Attributes perm;
    perm["perm"].value = std::move(order);
    return patch_.emit("Transpose", {split}, std::move(perm), base);
  }

  /// 0 where a key counts and the filter elsewhere, to be broadcast to [B, heads, S, S]; invalid
  /// for a mask that this rule does not read.
  ValueId mask_term() {
    const TypeInfo& mask = g_.value(node_.input(place_.mask)).type;
    if (!mask.has_rank() || mask.rank() < 1 || mask.rank() > 3 || mask.type != DType::kInt32)
      return {};
    const ValueId counts = mask.rank() == 1 ? within_length() : positive(mask.rank());
    if (!counts.valid()) return {};
    const double filter = static_cast<double>(node_.attr_float("mask_filter_value", -10000));
    return patch_.emit("Where",
                       {counts, emit_number(patch_, name("mask_zero"), type_, 0),
                        emit_number(patch_, name("mask_filter"), type_, filter)},
                       {}, name("mask"));
  }

  ValueId positive(int64_t rank) {
    const ValueId zero = patch_.constant(name("mask_none"), Tensor::scalar<int32_t>(0));
    const ValueId counts =
        patch_.emit("Greater", {node_.input(place_.mask), zero}, {}, name("mask_counts"));
    if (rank == 3) return by_head(counts);
    const ValueId shape = emit_ints(patch_, name("mask_shape"), {0, 1, 1, -1});
    return patch_.emit("Reshape", {counts, shape}, {}, name("mask_by_head"));
  }

  /// [B, S, S] to [B, 1, S, S].
  ValueId by_head(ValueId counts) {
    Attributes axes;
    std::vector<ValueId> inputs = {counts};
    if (g_.opset() < 13)
      axes["axes"].value = std::vector<int64_t>{1};
    else
      inputs.push_back(emit_ints(patch_, name("mask_axes"), {1}));
    return patch_.emit("Unsqueeze", std::move(inputs), std::move(axes), name("mask_by_head"));
  }

  /// Key k counts when k is below the length of its row.
  ValueId within_length() {
    const TypeInfo& x = g_.value(node_.input(0)).type;
    const TypeInfo& mask = g_.value(node_.input(place_.mask)).type;
    if (!((*mask.shape)[0] == (*x.shape)[0])) return {};
    const ValueId shape = patch_.emit("Shape", {node_.input(0)}, {}, name("mask_sizes"));
    const ValueId at = patch_.constant(name("mask_step_axis"), Tensor::scalar<int64_t>(1));
    const ValueId steps = patch_.emit("Gather", {shape, at}, {}, name("mask_steps"));
    Attributes to;
    to["to"].value = static_cast<int64_t>(DType::kInt32);
    const ValueId limit = patch_.emit("Cast", {steps}, std::move(to), name("mask_limit"));
    const ValueId keys =
        patch_.emit("Range",
                    {patch_.constant(name("mask_first"), Tensor::scalar<int32_t>(0)), limit,
                     patch_.constant(name("mask_step"), Tensor::scalar<int32_t>(1))},
                    {}, name("mask_keys"));
    const ValueId lengths = patch_.emit(
        "Reshape", {node_.input(place_.mask), emit_ints(patch_, name("mask_shape"), {-1, 1, 1, 1})},
        {}, name("mask_lengths"));
    return patch_.emit("Less", {keys, lengths}, {}, name("mask_counts"));
  }

  const Graph& g_;
  const Node& node_;
  Heads heads_;
  bool coded_;
  Places place_;
  Patch patch_;
  DType type_;
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

} // namespace

std::optional<Patch> decompose_attention(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  const bool coded = node.is("QAttention", kMicrosoft);
  if ((!coded && !node.is("Attention", kMicrosoft)) || g.opset() < 11) return std::nullopt;
  const Tensor* w = g.constant(node.input(1));
  const Tensor* b = g.constant(node.input(2));
  if (w == nullptr || w->rank() != 2 || (node.input(2).valid() && b == nullptr))
    return std::nullopt;
  if (coded && !fits_dequantize(g, node, w->dim(1))) return std::nullopt;
  const Places& place = coded ? kCoded : kAttention;
  const bool plain = !given(node, place.past) && !given(node, place.key_positions) &&
                     node.attr_int("unidirectional", 0) == 0 && node.attr_int("do_rotary", 0) == 0;
  if (!plain || (node.outputs.size() > 1 && context.uses.count(node.output(1)) > 0))
    return std::nullopt;
  const TypeInfo& x = g.value(node.input(0)).type;
  if ((!coded && !is_float(x.type)) || !x.has_rank() || x.rank() != 3) return std::nullopt;
  const auto heads = heads_of(node, w->dim(1));
  if (!heads) return std::nullopt;
  return Decomposition(context, node, *heads, coded).run();
}

} // namespace octet
