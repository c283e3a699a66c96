// SPDX-License-Identifier: Apache-2.0
//   MultiHeadAttention(q, k, v, bias, mask, added, past_k, past_v) of com.microsoft
//        =>    q, k, v [+ bias], split into heads, k and v behind those of the past
//              softmax(q scale * k^T [+ mask] [+ added] [+ causal]) v, heads put together
// Rounding. The scale stands at q, where TensorRT's fused attention wants it. Wanted: queries, keys
// and values of three inputs, a constant bias, a mask of lengths, of keys or of queries and keys.
#include <cmath>

#include "passes/attention_parts.h"

namespace octet {

namespace {

class HeadsDecomposition {
 public:
  HeadsDecomposition(
      const RuleContext& c, const Node& node, int64_t heads, int64_t width, int64_t v_width)
      : g_(c.graph), node_(node), heads_(heads), width_(width), v_width_(v_width),
        patch_(g_, node.op_type + " is products, softmax and movement", Exactness::kRounding),
        type_(g_.value(node.input(0)).type.type), parts_(g_, node, patch_, type_) {
    patch_.from(node);
    const bool gives = c.uses.count(node.output(1)) > 0 || c.uses.count(node.output(2)) > 0;
    keeps_ = gives || node.input(6).valid() || g_.value(node.input(1)).type.rank() == 4;
  }

  std::optional<Patch> run() {
    const int64_t size = width_ / heads_;
    ValueId q = parts_.split(biased(0, "query", 0, width_), "query", heads_, size, {0, 2, 1, 3});
    const double stated = static_cast<double>(node_.attr_float("scale", 0));
    const double scale = stated != 0 ? stated : 1 / std::sqrt(static_cast<double>(size));
    q = patch_.emit("Mul", {q, emit_number(patch_, name("scale_value"), type_, scale)}, {},
                    name("scale"));
    const ValueId keys = by_heads(1, 6, "key", width_, width_, !keeps_);
    const ValueId values = by_heads(2, 7, "value", 2 * width_, v_width_, false);
    ValueId turned = keys;
    if (keeps_) {
      Attributes perm;
      perm["perm"].value = std::vector<int64_t>{0, 1, 3, 2};
      turned = patch_.emit("Transpose", {keys}, std::move(perm), name("keys_turned"));
    }
    ValueId scores = patch_.emit("MatMul", {q, turned}, {}, name("scores"));
    const SizedBy count = keeps_ ? SizedBy{keys, 2} : SizedBy{node_.input(1), 1};
    if (node_.input(4).valid()) {
      const ValueId mask = parts_.mask_term(node_.input(4), count);
      if (!mask.valid()) return std::nullopt;
      scores = patch_.emit("Add", {scores, mask}, {}, name("masked"));
    }
    if (node_.input(5).valid())
      scores = patch_.emit("Add", {scores, node_.input(5)}, {}, name("biased"));
    if (node_.attr_int("unidirectional", 0) != 0) {
      const SizedBy past = node_.input(6).valid() ? SizedBy{node_.input(6), 2} : SizedBy{};
      const ValueId causal = parts_.causal_term({node_.input(0)}, count, past);
      scores = patch_.emit("Add", {scores, causal}, {}, name("seen"));
    }
    const ValueId mixed =
        patch_.emit("MatMul", {parts_.softmax(scores), values}, {}, name("mixed"));
    patch_.replace(node_.output(0), parts_.join(mixed, v_width_, node_.name));
    if (keeps_) {
      hand_on(1, keys);
      hand_on(2, values);
    }
    return std::move(patch_);
  }

 private:
  std::string name(const char* part) const { return parts_.name(part); }

  /// Input `i` with its part of the bias.
  ValueId biased(size_t i, const char* part, int64_t begin, int64_t size) {
    if (!node_.input(3).valid()) return node_.input(i);
    const std::vector<double> all = g_.constant(node_.input(3))->to_doubles().value();
    const auto cut = std::span(all).subspan(static_cast<size_t>(begin), static_cast<size_t>(size));
    const ValueId row =
        patch_.constant(name(part) + ".bias", Tensor::from_doubles(type_, {size}, cut).value());
    return patch_.emit("Add", {node_.input(i), row}, {}, name(part));
  }

  /// Keys or values as [B, heads, T, D], with those of the past; keys as [B, heads, D, T] if
  /// `turned`.
  ValueId
  by_heads(size_t i, size_t past, const char* part, int64_t begin, int64_t columns, bool turned) {
    if (g_.value(node_.input(i)).type.rank() == 4) return node_.input(i);
    const std::vector<int64_t> order =
        turned ? std::vector<int64_t>{0, 2, 3, 1} : std::vector<int64_t>{0, 2, 1, 3};
    const ValueId own =
        parts_.split(biased(i, part, begin, columns), part, heads_, columns / heads_, order);
    if (!node_.input(past).valid()) return own;
    Attributes axis;
    axis["axis"].value = int64_t{2};
    return patch_.emit("Concat", {node_.input(past), own}, std::move(axis),
                       name(part) + "_with_past");
  }

  /// What later steps read, unless an input is handed on as it is.
  void hand_on(size_t output, ValueId value) {
    if (!node_.output(output).valid()) return;
    const bool input = value == node_.input(output);
    if (input)
      value = patch_.emit("Identity", {value}, {}, name("handed_on") + std::to_string(output));
    patch_.replace(node_.output(output), value);
  }

  const Graph& g_;
  const Node& node_;
  int64_t heads_, width_, v_width_;
  Patch patch_;
  DType type_;
  AttentionParts parts_;
  bool keeps_ = false; ///< keys are wanted as [B, heads, T, D]
};

/// Columns of an input of all heads; nothing where they are not known.
std::optional<int64_t> columns_of_heads(const TypeInfo& type, int64_t heads) {
  if (!type.has_rank() || (type.rank() != 3 && type.rank() != 4)) return std::nullopt;
  const Dim& last = type.shape->back();
  if (!last.is_constant() || last.value() < 1) return std::nullopt;
  if (type.rank() == 4) return last.value() * heads;
  return last.value() % heads == 0 ? std::optional(last.value()) : std::nullopt;
}

} // namespace

std::optional<Patch> decompose_multi_head_attention(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!node.is("MultiHeadAttention", kMicrosoft) || g.opset() < 11) return std::nullopt;
  const int64_t heads = node.attr_int("num_heads", 0);
  if (heads < 1 || !node.input(1).valid() || !node.input(2).valid() ||
      node.input(6).valid() != node.input(7).valid())
    return std::nullopt;
  for (const size_t unread : {size_t{8}, size_t{9}})
    if (node.input(unread).valid()) return std::nullopt;
  if (context.uses.count(node.output(3)) > 0) return std::nullopt;
  const TypeInfo& q = g.value(node.input(0)).type;
  const TypeInfo& k = g.value(node.input(1)).type;
  const TypeInfo& v = g.value(node.input(2)).type;
  const auto width = columns_of_heads(q, heads), k_width = columns_of_heads(k, heads),
             v_width = columns_of_heads(v, heads);
  if (!width || !v_width || k_width != width || q.rank() != 3 || k.rank() != v.rank() ||
      !is_float(q.type))
    return std::nullopt;
  if (k.rank() == 4 && (node.input(3).valid() || node.input(6).valid())) return std::nullopt;
  if (node.input(3).valid()) {
    const Tensor* bias = g.constant(node.input(3));
    if (bias == nullptr || bias->count() != 2 * *width + *v_width) return std::nullopt;
  }
  return HeadsDecomposition(context, node, heads, *width, *v_width).run();
}

} // namespace octet
