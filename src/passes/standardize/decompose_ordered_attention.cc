// SPDX-License-Identifier: Apache-2.0
//   QOrderedAttention(x, Wq, Wk, Wv, ...) of com.microsoft
//        =>    q, k, v = DQ(x) DQ(W) + b in three products, each ─▶ Q ─▶ DQ, split into heads
//              q k^T ─▶ Q ─▶ DQ ─▶ Mul(1 / sqrt(size of a head)) [+ mask] ─▶ Softmax ─▶ Q ─▶ DQ
//              that v, heads put together ─▶ Q
// Rounding: a code may be one step off at a tie. Wanted: constant weights and scales, no causal
// mask. The scale stays behind the rounded scores, where the operator has it; octet repair
// --attention moves it. Source: ONNX Runtime, docs/ContribOperators.md.
#include <array>
#include <cmath>

#include "passes/attention_parts.h"
#include "passes/standardize/ordered_codes.h"

namespace octet {

namespace {

constexpr size_t kScoreScale = 14, kSoftmaxScale = 15, kOutputScale = 16, kMask = 17;

class OrderedAttention {
 public:
  OrderedAttention(const Graph& g, const Node& node, Patch& patch, const HeadSizes& heads)
      : node_(node), patch_(patch), heads_(heads), codes_(g, node, patch),
        parts_(g, node, patch, DType::kFloat32) {}

  /// The codes of the output; invalid where an input is not as it is wanted.
  ValueId run() {
    const int64_t n = heads_.count, size = heads_.query / n;
    const ValueId x = codes_.values(node_.input(0), 1, name("x"));
    std::array<ValueId, 3> p;
    for (size_t part = 0; part < 3; ++part) {
      p[part] = project(x, part);
      if (!p[part].valid()) return {};
    }
    const ValueId q = parts_.split(p[0], kNames[0], n, size, {0, 2, 1, 3});
    const ValueId k = parts_.split(p[1], kNames[1], n, size, {0, 2, 3, 1});
    const ValueId v = parts_.split(p[2], kNames[2], n, heads_.value / n, {0, 2, 1, 3});
    ValueId scores =
        stepped(patch_.emit("MatMul", {q, k}, {}, name("scores")), kScoreScale, name("scores"));
    const ValueId factor = emit_number(patch_, name("scale_value"), DType::kFloat32,
                                       1 / std::sqrt(static_cast<double>(size)));
    scores = patch_.emit("Mul", {scores, factor}, {}, name("scale"));
    if (node_.input(kMask).valid()) {
      const ValueId mask = parts_.mask_term(node_.input(kMask));
      if (!mask.valid()) return {};
      scores = patch_.emit("Add", {scores, mask}, {}, name("masked"));
    }
    const ValueId shares = stepped(parts_.softmax(scores), kSoftmaxScale, name("softmax"));
    const ValueId mixed = patch_.emit("MatMul", {shares, v}, {}, name("mixed"));
    return codes_.codes(parts_.join(mixed, heads_.value, name("joined")), kOutputScale, node_.name);
  }

 private:
  static constexpr std::array<const char*, 3> kNames = {"query", "key", "value"};

  std::string name(const char* part) const { return codes_.name(part); }

  ValueId project(ValueId x, size_t part) {
    const std::string base = name(kNames[part]);
    if (!codes_.has_scale(2 + part) || !codes_.has_scale(8 + part, true)) return {};
    const ValueId w =
        codes_.weight(5 + part, 8 + part, ms::MatrixOrder::kColumns, false, base + ".weight");
    if (!w.valid()) return w;
    const ValueId product = patch_.emit("MatMul", {x, w}, {}, base + "/product");
    const ValueId sum = patch_.emit("Add", {product, node_.input(11 + part)}, {}, base);
    return stepped(sum, 2 + part, base);
  }

  ValueId stepped(ValueId x, size_t scale, const std::string& base) {
    if (!node_.input(scale).valid()) return x;
    return codes_.values(codes_.codes(x, scale, base + "_quantize"), scale, base + "_dequantize");
  }

  const Node& node_;
  Patch& patch_;
  HeadSizes heads_;
  OrderedCodes codes_;
  AttentionParts parts_;
};

bool is_standard(const Graph& g, const Node& node) {
  return node.is("QOrderedAttention", kMicrosoft) && g.opset() >= 11 &&
         node.attr_int("unidirectional", 0) == 0 && !node.input(18).valid() &&
         !node.input(19).valid();
}

bool has_scales(const OrderedCodes& codes, const Node& node) {
  for (const size_t scale : {size_t{1}, kScoreScale, kSoftmaxScale, kOutputScale})
    if (node.input(scale).valid() && !codes.has_scale(scale)) return false;
  return true;
}

} // namespace

std::optional<Patch> decompose_ordered_attention(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!is_standard(g, node)) return std::nullopt;
  int64_t columns = 0;
  for (size_t part = 0; part < 3; ++part) {
    const Tensor* w = g.constant(node.input(5 + part));
    if (w == nullptr || w->rank() != 2) return std::nullopt;
    columns += w->dim(1);
  }
  const auto heads = head_sizes(node, columns);
  if (!heads) return std::nullopt;
  Patch patch(g, "QOrderedAttention is products, softmax and movement between Q and DQ",
              Exactness::kRounding);
  patch.from(node);
  if (!has_scales(OrderedCodes(g, node, patch), node)) return std::nullopt;
  const ValueId y = OrderedAttention(g, node, patch, *heads).run();
  if (!y.valid()) return std::nullopt;
  patch.replace(node.output(0), y);
  return patch;
}

} // namespace octet
