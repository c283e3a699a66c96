// SPDX-License-Identifier: Apache-2.0
//   Attention(q, k, v, mask, past_k, past_v) of ai.onnx
//        =>    k and v behind those of the past, softmax(cap(q scale * k^T) + bias) v
// where the bias is the mask and what causality hides, and a row that sees nothing gives zeros.
// Query heads that share a key head are rows of one product. Rounding. Wanted: heads and columns
// that are known, a mask as long as the keys, no window, no lengths of padding, and nobody reads the
// scores.
#include <cmath>
#include <limits>

#include "passes/attention_parts.h"

namespace octet {

namespace {

struct HeadForm {
  int64_t heads = 0, kv_heads = 0, size = 0, v_size = 0;
  bool apart = false; ///< the inputs are [B, heads, S, D]
};

class OnnxAttention {
 public:
  OnnxAttention(const RuleContext& c, const Node& node, const HeadForm& form)
      : g_(c.graph), node_(node), form_(form),
        patch_(g_, "Attention is products, softmax and movement", Exactness::kRounding),
        type_(g_.value(node.input(0)).type.type), parts_(g_, node, patch_, type_) {
    patch_.from(node);
  }

  Patch run() {
    const ValueId keys = with_past(1, 4, "key", form_.kv_heads, form_.size);
    const ValueId values = with_past(2, 5, "value", form_.kv_heads, form_.v_size);
    const double stated = static_cast<double>(node_.attr_float("scale", 0));
    const double scale =
        node_.has_attr("scale") ? stated : 1 / std::sqrt(static_cast<double>(form_.size));
    const ValueId factor = emit_number(patch_, name("scale_value"), type_, scale);
    ValueId q = patch_.emit("Mul", {by_heads(0, "query", form_.heads, form_.size), factor}, {},
                            name("scale"));
    ValueId scores = patch_.emit("MatMul", {grouped(q, "query"), turned(keys)}, {}, name("scores"));
    scores = capped(ungrouped(scores, "scores"));
    const ValueId bias = bias_of(keys);
    if (bias.valid()) scores = patch_.emit("Add", {scores, bias}, {}, name("biased"));
    const ValueId p = grouped(parts_.softmax(scores), "softmax");
    ValueId y = ungrouped(patch_.emit("MatMul", {p, values}, {}, name("mixed")), "mixed");
    if (node_.input(3).valid()) y = without_hidden_rows(y, bias);
    if (!form_.apart) y = parts_.join(y, form_.heads * form_.v_size, node_.name);
    patch_.replace(node_.output(0), y);
    hand_on(1, keys);
    hand_on(2, values);
    return std::move(patch_);
  }

 private:
  std::string name(const std::string& part) const { return parts_.name(part.c_str()); }

  /// [B, heads, S, D].
  ValueId by_heads(size_t i, const char* part, int64_t heads, int64_t size) {
    return form_.apart ? node_.input(i)
                       : parts_.split(node_.input(i), part, heads, size, {0, 2, 1, 3});
  }

  ValueId with_past(size_t i, size_t past, const char* part, int64_t heads, int64_t size) {
    const ValueId own = by_heads(i, part, heads, size);
    if (!node_.input(past).valid()) return own;
    Attributes axis;
    axis["axis"].value = int64_t{2};
    return patch_.emit("Concat", {node_.input(past), own}, std::move(axis),
                       name(std::string(part) + "_with_past"));
  }

  ValueId turned(ValueId keys) {
    Attributes perm;
    perm["perm"].value = std::vector<int64_t>{0, 1, 3, 2};
    return patch_.emit("Transpose", {keys}, std::move(perm), name("keys_turned"));
  }

  /// [B, heads, S, ..] as [B, key heads, rows, ..] and back.
  ValueId with_heads(ValueId x, int64_t heads, const std::string& as) {
    if (form_.heads == form_.kv_heads) return x;
    return patch_.emit("Reshape", {x, emit_ints(patch_, as + "/shape", {0, heads, -1, 0})}, {}, as);
  }
  ValueId grouped(ValueId x, const char* part) {
    return with_heads(x, form_.kv_heads, name(std::string(part) + "_grouped"));
  }
  ValueId ungrouped(ValueId x, const char* part) {
    return with_heads(x, form_.heads, name(std::string(part) + "_by_head"));
  }

  ValueId capped(ValueId scores) {
    const double cap = static_cast<double>(node_.attr_float("softcap", 0));
    if (!(cap > 0)) return scores;
    const ValueId bound = emit_number(patch_, name("cap"), type_, cap);
    const ValueId small = patch_.emit("Div", {scores, bound}, {}, name("uncapped"));
    return patch_.emit("Mul", {patch_.emit("Tanh", {small}, {}, name("bent")), bound}, {},
                       name("capped"));
  }

  /// What is added to the scores, no less than the lowest number; invalid where there is nothing.
  ValueId bias_of(ValueId keys) {
    ValueId bias;
    if (node_.attr_int("is_causal", 0) != 0) {
      const SizedBy past = node_.input(4).valid() ? SizedBy{node_.input(4), 2} : SizedBy{};
      bias = parts_.causal_term({node_.input(0), form_.apart ? 2 : 1}, {keys, 2}, past);
    }
    ValueId mask = node_.input(3);
    if (!mask.valid()) return bias;
    if (g_.value(mask).type.type == DType::kBool)
      mask =
          patch_.emit("Where", {mask, emit_number(patch_, name("mask_zero"), type_, 0), lowest()},
                      {}, name("mask"));
    if (bias.valid()) mask = patch_.emit("Add", {mask, bias}, {}, name("mask_and_later"));
    return patch_.emit("Max", {mask, lowest()}, {}, name("bias"));
  }

  ValueId lowest() {
    if (!lowest_.valid())
      lowest_ = emit_number(patch_, name("lowest"), type_,
                            static_cast<double>(std::numeric_limits<float>::lowest()));
    return lowest_;
  }

  ValueId without_hidden_rows(ValueId y, ValueId bias) {
    const ValueId most = patch_.emit(
        "ReduceMax", {bias, emit_ints(patch_, name("keys_axis"), {-1})}, {}, name("most_seen"));
    const ValueId hidden = patch_.emit("Equal", {most, lowest()}, {}, name("sees_nothing"));
    const ValueId zero = emit_number(patch_, name("nothing"), type_, 0);
    return patch_.emit("Where", {hidden, zero, y}, {},
                       form_.apart ? node_.name : name("of_what_is_seen"));
  }

  /// What later steps read.
  void hand_on(size_t output, ValueId value) {
    if (!node_.output(output).valid()) return;
    if (value == node_.input(output))
      value = patch_.emit("Identity", {value}, {}, name("handed_on") + std::to_string(output));
    patch_.replace(node_.output(output), value);
  }

  const Graph& g_;
  const Node& node_;
  HeadForm form_;
  Patch patch_;
  DType type_;
  AttentionParts parts_;
  ValueId lowest_;
};

std::optional<int64_t> known_size(const TypeInfo& x, size_t axis) {
  const Dim& d = (*x.shape)[axis];
  return d.is_constant() && d.value() > 0 ? std::optional(d.value()) : std::nullopt;
}

/// Heads and columns of an input, where they are known.
std::optional<std::pair<int64_t, int64_t>> known_heads(const TypeInfo& x, int64_t stated) {
  const auto last = known_size(x, x.shape->size() - 1);
  if (x.rank() == 4) {
    const auto heads = known_size(x, 1);
    return heads && last ? std::optional(std::pair(*heads, *last)) : std::nullopt;
  }
  if (stated < 1 || !last || *last % stated != 0) return std::nullopt;
  return std::pair(stated, *last / stated);
}

std::optional<HeadForm> head_form(const Graph& g, const Node& node) {
  const TypeInfo* x[] = {&g.value(node.input(0)).type, &g.value(node.input(1)).type,
                         &g.value(node.input(2)).type};
  const DType type = x[0]->type;
  if (type != DType::kFloat32) return std::nullopt;
  for (const TypeInfo* each : x)
    if (!each->has_rank() || each->rank() != x[0]->rank() || each->type != type ||
        (each->rank() != 3 && each->rank() != 4))
      return std::nullopt;
  const int64_t kv = node.attr_int("kv_num_heads", 0);
  const auto q = known_heads(*x[0], node.attr_int("q_num_heads", 0));
  const auto k = known_heads(*x[1], kv), v = known_heads(*x[2], kv);
  if (!q || !k || !v || q->second != k->second || k->first != v->first || q->first % k->first != 0)
    return std::nullopt;
  return HeadForm{q->first, k->first, q->second, v->second, x[0]->rank() == 4};
}

/// A shorter mask hides what it does not reach: only one that is as long as the keys broadcasts.
bool is_full_mask(const Graph& g, const Node& node, const HeadForm& form) {
  if (!node.input(3).valid()) return true;
  const TypeInfo& mask = g.value(node.input(3)).type;
  if (!mask.has_rank() || mask.rank() < 1 ||
      (mask.type != DType::kBool && mask.type != DType::kFloat32))
    return false;
  Dim keys = (*g.value(node.input(1)).type.shape)[form.apart ? 2 : 1];
  if (node.input(4).valid()) {
    const TypeInfo& past = g.value(node.input(4)).type;
    if (!past.has_rank()) return false;
    keys = (*past.shape)[2] + keys;
  }
  return keys.is_known() && mask.shape->back() == keys;
}

} // namespace

std::optional<Patch> decompose_onnx_attention(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!node.is("Attention") || !node.input(1).valid() || !node.input(2).valid())
    return std::nullopt;
  const bool plain = node.input(4).valid() == node.input(5).valid() && !node.input(6).valid() &&
                     node.attr_int("left_window_size", -1) < 0 &&
                     node.attr_int("right_window_size", -1) < 0;
  if (!plain || context.uses.count(node.output(3)) > 0) return std::nullopt;
  const auto form = head_form(g, node);
  if (!form || !is_full_mask(g, node, *form)) return std::nullopt;
  return OnnxAttention(context, node, *form).run();
}

} // namespace octet
