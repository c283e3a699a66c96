// SPDX-License-Identifier: Apache-2.0
//   x ─▶ three products + bias ─▶ heads ─▶ q k^T ─▶ Div ─▶ Add(mask) ─▶ Softmax ─▶ v ─▶ heads joined
//     ─▶ product + bias + x ─▶ LayerNormalization
// with Q and DQ behind each bias, q k^T, Softmax, the mixed values and the last sum.
#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "ops/qdq/site.h"
#include "passes/match.h"
#include "targets/onnxruntime/ordered.h"

namespace octet {

/// Goes from the softmax to both ends. Each step says why it went no further.
class OrderedAttentionWalk {
 public:
  OrderedAttentionWalk(const OrderedLayers& layers, const Node& softmax)
      : l_(layers), g_(layers.graph_), uses_(layers.uses_) {
    out_.shares.maker = &softmax;
  }

  Matched<OrderedAttention> run() {
    const bool found = scores() && mixed() && part(0, *out_.scores.maker, 0, {0, 2, 1, 3}) &&
                       part(1, *out_.scores.maker, 1, {0, 2, 3, 1}) &&
                       part(2, *out_.context.maker, 1, {0, 2, 1, 3}) && sizes() && scale() &&
                       mask() && projection();
    if (!found) return {std::nullopt, why_.empty() ? "it is no attention of one value" : why_};
    return {out_, {}};
  }

 private:
  bool no(std::string why) {
    why_ = std::move(why);
    return false;
  }
  bool codes() const { return l_.between_ == Between::kCodes; }

  /// What makes an input of `reader` for it alone.
  const Node* before(const Node& reader, size_t i) const {
    const ValueId value = reader.input(i);
    const Node* maker = value.valid() ? g_.producer(value) : nullptr;
    return maker != nullptr && uses_.single_consumer(value) == reader.id ? maker : nullptr;
  }
  /// The same through Q and DQ, where they are there.
  OrderedStep coded_before(const Node& reader, size_t i) {
    OrderedStep out;
    if (!codes()) {
      out.maker = before(reader, i);
      return out;
    }
    out.dequantize = before(reader, i);
    if (out.dequantize == nullptr || !is_dequantize(*out.dequantize)) return {};
    out.quantize = before(*out.dequantize, 0);
    if (out.quantize == nullptr || !is_quantize(*out.quantize) ||
        !qdq::have_same_parameters(g_, *out.quantize, *out.dequantize))
      return {};
    l_.read(reader.input(i), why_);
    if (!why_.empty()) return {};
    l_.written(out.quantize->input(0), why_);
    if (!why_.empty()) return {};
    out.maker = before(*out.quantize, 0);
    return out;
  }
  static bool is(const Node* node, std::string_view op) { return node != nullptr && node->is(op); }

  /// Softmax, what is added before it, the Div, q k^T.
  bool scores() {
    const Node& softmax = *out_.shares.maker;
    const TypeInfo& x = g_.value(softmax.input(0)).type;
    const int64_t axis = softmax.attr_int("axis", -1);
    if (!x.has_rank() || x.rank() != 4 || (axis != -1 && axis != 3))
      return no("its Softmax is not over the keys of heads");
    out_.masked = before(softmax, 0);
    if (!is(out_.masked, "Add"))
      return no("no mask is added before its Softmax, which the kernel wants");
    out_.divided = before(*out_.masked, 0);
    if (!is(out_.divided, "Div")) return no("its scores are not divided by a number");
    out_.scores = coded_before(*out_.divided, 0);
    return is(out_.scores.maker, "MatMul") || no_codes("the scores");
  }

  bool no_codes(std::string_view what) {
    if (!why_.empty()) return false;
    return no(codes() ? fmt::format("{} do not come through one Q and DQ", what)
                      : fmt::format("{} do not come from a product", what));
  }

  /// The product of shares and v, and the heads joined.
  bool mixed() {
    const ValueId y = out_.shares.maker->output(0);
    const NodeId next = uses_.single_consumer(y);
    if (!next.valid()) return no("something else reads its shares");
    const Node* context = &g_.node(next);
    if (codes()) {
      const Node* dequantize = l_.sole_reader(context->output(0), "DequantizeLinear");
      const NodeId reader =
          dequantize != nullptr ? uses_.single_consumer(dequantize->output(0)) : NodeId{};
      if (!reader.valid()) return no("its shares do not go through one Q and DQ");
      context = &g_.node(reader);
    }
    if (!context->is("MatMul")) return no("no product of its shares and values follows");
    const OrderedStep shares = coded_before(*context, 0);
    if (shares.maker != out_.shares.maker) return no_codes("its shares");
    out_.shares = shares;
    out_.context.maker = context;
    return joined();
  }

  bool joined() {
    const NodeId next = uses_.single_consumer(out_.context.maker->output(0));
    if (!next.valid()) return no("something else reads the mixed values");
    const Node* turn = &g_.node(next);
    if (codes()) {
      const Node* dequantize = l_.sole_reader(turn->output(0), "DequantizeLinear");
      turn = dequantize != nullptr ? l_.sole_reader(dequantize->output(0), "Transpose") : nullptr;
      if (turn == nullptr) return no("the mixed values do not go through one Q and DQ");
    }
    if (!turn->is("Transpose") || turn->attr_ints("perm") != std::vector<int64_t>{0, 2, 1, 3})
      return no("its heads are not joined by Transpose and Reshape");
    const OrderedStep context = coded_before(*turn, 0);
    if (context.maker != out_.context.maker) return no_codes("the mixed values");
    out_.context = context;
    out_.turned = turn;
    out_.joined = l_.sole_reader(turn->output(0), "Reshape");
    return out_.joined != nullptr || no("its heads are not joined by Transpose and Reshape");
  }

  bool part(size_t i, const Node& reader, size_t input, const std::vector<int64_t>& perm) {
    OrderedAttention::Part& p = out_.parts[i];
    p.turned = before(reader, input);
    if (!is(p.turned, "Transpose") || p.turned->attr_ints("perm") != perm)
      return no("its heads are not split by Reshape and one Transpose");
    p.split = before(*p.turned, 0);
    if (!is(p.split, "Reshape")) return no("its heads are not split by Reshape and one Transpose");
    p.biased = coded_before(*p.split, 0);
    if (!is(p.biased.maker, "Add")) return no_codes("its queries, keys or values");
    for (const size_t side : {size_t{0}, size_t{1}})
      if (const Node* product = before(*p.biased.maker, side); is(product, "MatMul"))
        p.product = product;
    if (p.product == nullptr) return no("its queries, keys or values come from no product");
    p.weight = l_.weight(*p.product, why_);
    if (!why_.empty()) return false;
    p.bias = l_.bias(*p.biased.maker, p.product->output(0), p.weight);
    if (!p.bias.valid()) return no("what is added to a product is no constant f32 vector");
    const OrderedInput x = l_.read(p.product->input(0), why_);
    if (!why_.empty()) return false;
    if (i == 0) out_.x = x;
    if (p.product->input(0) != out_.parts[0].product->input(0))
      return no("its queries, keys and values come from several values");
    return true;
  }

  bool sizes() {
    const auto columns = [&](const OrderedAttention::Part& p) {
      return g_.value(p.weight.real).type.shape->back().value();
    };
    for (const OrderedAttention::Part& p : out_.parts) {
      const Tensor* shape = g_.constant(p.split->input(1));
      if (shape == nullptr || shape->count() != 4) return no("the shape of its heads is computed");
      const auto heads = static_cast<int64_t>(shape->at(2));
      const auto size = static_cast<int64_t>(shape->at(3));
      if (out_.heads == 0) {
        out_.heads = heads;
        out_.size = size;
      }
      if (heads <= 0 || size <= 0 || heads != out_.heads || size != out_.size ||
          columns(p) != heads * size)
        return no("its queries, keys and values have heads of several sizes");
    }
    constexpr int64_t kSixteen = 16;
    if (out_.size % kSixteen != 0)
      return no(fmt::format("its heads have {} columns: the kernel takes multiples of {}",
                            out_.size, kSixteen));
    const TypeInfo& x = g_.value(out_.parts[0].product->input(0)).type;
    if (!x.has_rank() || x.rank() != 3) return no("it reads no [batch, length, columns]");
    const auto length = (*x.shape)[1].maybe_value();
    if (length && *length % kSixteen != 0)
      return no(fmt::format("its sequences have {} tokens: the kernel takes multiples of {}",
                            *length, kSixteen));
    return true;
  }

  bool scale() {
    const auto divisor = number(g_, out_.divided->input(1));
    const double want = std::sqrt(static_cast<double>(out_.size));
    constexpr double kTolerance = 1e-5;
    if (divisor && std::abs(*divisor - want) <= kTolerance * want) return true;
    return no(fmt::format("its scores are not divided by {:.6g}, the root of a head's size", want));
  }

  /// (1 - Cast(mask [batch, keys])) * number, with two axes between.
  bool mask() {
    constexpr double kMasks = -1000; // e^x is 0 beside any score that codes can have
    constexpr std::string_view kForm =
        "its mask is not (1 - mask) times a number below -1000, of a mask [batch, keys]";
    const auto last_two = [&](ValueId id) {
      const TypeInfo& type = g_.value(id).type;
      return type.has_rank() && type.rank() == 4 && (*type.shape)[1] == Dim(1) &&
             (*type.shape)[2] == Dim(1);
    };
    const Node* mul = made_by(g_, out_.masked->input(1), "Mul");
    const Node* sub = mul != nullptr ? made_by(g_, mul->input(0), "Sub") : nullptr;
    const auto factor = mul != nullptr ? number(g_, mul->input(1)) : std::nullopt;
    if (sub == nullptr || !factor || *factor > kMasks || !is_number(g_, sub->input(0), 1))
      return no(std::string(kForm));
    const Node* cast = made_by(g_, sub->input(1), "Cast");
    const Node* outer = cast != nullptr ? made_by(g_, cast->input(0), "Unsqueeze") : nullptr;
    const Node* inner = outer != nullptr ? made_by(g_, outer->input(0), "Unsqueeze") : nullptr;
    if (inner == nullptr || !last_two(cast->output(0))) return no(std::string(kForm));
    out_.mask = inner->input(0);
    const TypeInfo& mask = g_.value(out_.mask).type;
    return (mask.has_rank() && mask.rank() == 2 && is_integer(mask.type)) || no(std::string(kForm));
  }

  bool projection() {
    const Node* matmul = l_.sole_reader(out_.joined->output(0), "MatMul");
    if (matmul == nullptr || matmul->input(0) != out_.joined->output(0))
      return no("no product follows it");
    Matched<OrderedProduct> found = l_.without_x(*matmul);
    if (!found) return no("the product behind it: " + found.why);
    if (found->sum == nullptr || found->sum->input(1) != out_.parts[0].product->input(0))
      return no("what it reads is not added behind it");
    out_.projection = *found;
    ValueId y = found->y.real;
    if (codes()) {
      const Node* dequantize = l_.sole_reader(found->y.quantize->output(0), "DequantizeLinear");
      if (dequantize == nullptr) return no("no LayerNormalization follows it");
      y = dequantize->output(0);
    }
    out_.norm = l_.sole_reader(y, "LayerNormalization");
    if (out_.norm == nullptr) return no("no LayerNormalization follows it");
    const Matched<OrderedNorm> norm = l_.norm(*out_.norm);
    return norm || no("the LayerNormalization behind it: " + norm.why);
  }

  const OrderedLayers& l_;
  const Graph& g_;
  const Uses& uses_;
  OrderedAttention out_;
  std::string why_;
};

std::vector<const Node*> OrderedAttention::nodes() const {
  std::vector<const Node*> out;
  for (const Part& p : parts)
    out.insert(out.end(), {p.product, p.biased.maker, p.split, p.turned});
  out.insert(out.end(),
             {scores.maker, divided, masked, shares.maker, context.maker, turned, joined});
  return out;
}

Matched<OrderedAttention> OrderedLayers::attention(const Node& softmax) const {
  if (!softmax.is("Softmax")) return {std::nullopt, "it is no Softmax"};
  return OrderedAttentionWalk(*this, softmax).run();
}

} // namespace octet
