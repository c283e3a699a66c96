// SPDX-License-Identifier: Apache-2.0
// A small BERT encoder as PyTorch exports one: shapes computed from the inputs, biases added after
// products, GELU as a chain around Erf, layer norm as an operator or as a chain.
#pragma once

#include <cmath>

#include "core/philox.h"

#include "octet/graph.h"

namespace octet::test {

struct BertOptions {
  bool quantized = false;        ///< Q/DQ around products, weights by channel
  bool layer_norm_chain = false; ///< ReduceMean, Sub, Pow, ... in place of LayerNormalization
  int64_t layers = 2, heads = 2, head = 12, inner = 48, words = 50, positions = 64;
};

class BertBuilder {
 public:
  explicit BertBuilder(const BertOptions& options) : o_(options), width_(o_.heads * o_.head) {
    g_.opsets[""] = 17;
  }

  Graph build() {
    const auto input = [&](const char* name) {
      return g_.add_input(
          name, {DType::kInt64, std::vector<Dim>{Dim::symbol("N"), Dim::symbol("S")}, {}});
    };
    const ValueId ids = input("input_ids"), mask = input("attention_mask"),
                  types = input("token_type_ids");
    const ValueId bias = mask_bias(mask);
    ValueId x = embed(ids, types);
    for (int64_t i = 0; i < o_.layers; ++i)
      x = layer(x, bias, "layer" + std::to_string(i));
    const ValueId first = emit("Gather", {x, integer(0)}, {{"axis", 1}});
    const ValueId pooled = emit("Tanh", {dense(first, width_, width_, "pooler")});
    const ValueId logits = dense(pooled, width_, 3, "classifier");
    g_.rename(logits, "logits");
    g_.mark_output(logits);
    return std::move(g_);
  }

 private:
  using Ints = std::vector<std::pair<std::string, std::variant<int, std::vector<int64_t>>>>;

  ValueId emit(const std::string& op, std::vector<ValueId> inputs, const Ints& ints = {}) {
    Attributes attributes;
    for (const auto& [key, value] : ints) {
      if (const int* one = std::get_if<int>(&value))
        attributes[key].value = static_cast<int64_t>(*one);
      else
        attributes[key].value = std::get<std::vector<int64_t>>(value);
    }
    return g_.emit(op, std::move(inputs), attributes, op + std::to_string(++count_));
  }
  ValueId constant(Tensor t) {
    return g_.add_constant("c" + std::to_string(++count_), std::move(t));
  }
  ValueId number(float v) { return constant(Tensor::scalar(v)); }
  ValueId integer(int64_t v) { return constant(Tensor::scalar(v)); }
  ValueId list(std::vector<int64_t> v) {
    const auto n = static_cast<int64_t>(v.size());
    return constant(Tensor::of<int64_t>({n}, v));
  }
  ValueId random(Shape shape, double spread, double middle = 0) {
    Tensor t = Tensor::zeros(DType::kFloat32, std::move(shape)).value();
    for (float& v : t.mutable_data<float>())
      v = static_cast<float>(random_.uniform(middle - spread, middle + spread));
    return constant(std::move(t));
  }

  /// 0 where attended, else -10000, [N, 1, 1, S].
  ValueId mask_bias(ValueId mask) {
    const ValueId wide = emit("Unsqueeze", {emit("Unsqueeze", {mask, list({1})}), list({2})});
    const ValueId real = emit("Cast", {wide}, {{"to", 1}});
    return emit("Mul", {emit("Sub", {number(1), real}), number(-10000)});
  }

  ValueId dimension(ValueId x, int64_t axis) {
    return emit("Unsqueeze", {emit("Gather", {emit("Shape", {x}), integer(axis)}), list({0})});
  }

  ValueId embed(ValueId ids, ValueId types) {
    std::vector<int64_t> all(static_cast<size_t>(o_.positions));
    for (size_t i = 0; i < all.size(); ++i)
      all[i] = static_cast<int64_t>(i);
    const ValueId table = constant(Tensor::of<int64_t>({1, o_.positions}, all));
    const ValueId positions =
        emit("Slice", {table, list({0}), dimension(ids, 1), list({1}), list({1})});
    const ValueId word = emit("Gather", {random({o_.words, width_}, 1), ids});
    const ValueId type = emit("Gather", {random({2, width_}, 1), types});
    const ValueId position = emit("Gather", {random({o_.positions, width_}, 1), positions});
    return norm(emit("Add", {emit("Add", {word, type}), position}));
  }

  ValueId norm(ValueId x) {
    const ValueId gain = random({width_}, 0.2, 1), bias = random({width_}, 0.1);
    if (!o_.layer_norm_chain) return emit("LayerNormalization", {x, gain, bias}, {{"axis", -1}});
    const std::vector<int64_t> last{-1};
    const ValueId d = emit("Sub", {x, emit("ReduceMean", {x}, {{"axes", last}})});
    const ValueId variance = emit("ReduceMean", {emit("Pow", {d, number(2)})}, {{"axes", last}});
    const ValueId deviation = emit("Sqrt", {emit("Add", {variance, number(1e-5F)})});
    return emit("Add", {emit("Mul", {emit("Div", {d, deviation}), gain}), bias});
  }

  /// DQ(Q(x)) in the quantized form.
  ValueId codes(ValueId x, float scale) {
    if (!o_.quantized) return x;
    const ValueId s = number(scale), z = constant(Tensor::scalar<int8_t>(0));
    return emit("DequantizeLinear", {emit("QuantizeLinear", {x, s, z}), s, z});
  }

  ValueId weights(int64_t k, int64_t n) {
    if (!o_.quantized) return random({k, n}, 1 / std::sqrt(static_cast<double>(k)));
    Tensor codes = Tensor::zeros(DType::kInt8, {k, n}).value();
    for (int8_t& c : codes.mutable_data<int8_t>())
      c = static_cast<int8_t>(random_.below(255) - 127);
    std::vector<float> scales;
    for (int64_t i = 0; i < n; ++i)
      scales.push_back(static_cast<float>(random_.uniform(0.001, 0.003)));
    return emit("DequantizeLinear",
                {constant(codes), constant(Tensor::of<float>({n}, scales)),
                 constant(Tensor::zeros(DType::kInt8, {n}).value())},
                {{"axis", 1}});
  }

  ValueId dense(ValueId x, int64_t k, int64_t n, const std::string&) {
    const ValueId product = emit("MatMul", {codes(x, 0.02F), weights(k, n)});
    return emit("Add", {random({n}, 0.1), product});
  }

  /// [N, S, width] to [N, heads, S, head] in the order of `perm`.
  ValueId split_heads(ValueId x, const std::vector<int64_t>& perm) {
    const ValueId shape =
        emit("Concat", {dimension(x, 0), dimension(x, 1), list({o_.heads}), list({o_.head})},
             {{"axis", 0}});
    return emit("Transpose", {emit("Reshape", {x, shape})}, {{"perm", perm}});
  }

  ValueId attention(ValueId x, ValueId bias, const std::string& name) {
    const ValueId q = split_heads(dense(x, width_, width_, name + "_q"), {0, 2, 1, 3});
    const ValueId k = split_heads(dense(x, width_, width_, name + "_k"), {0, 2, 3, 1});
    const ValueId v = split_heads(dense(x, width_, width_, name + "_v"), {0, 2, 1, 3});
    const ValueId scores = emit("MatMul", {codes(q, 0.02F), codes(k, 0.02F)});
    const ValueId scaled = emit("Div", {scores, number(std::sqrt(static_cast<float>(o_.head)))});
    const ValueId weights = emit("Softmax", {emit("Add", {scaled, bias})}, {{"axis", -1}});
    const ValueId context = emit("MatMul", {codes(weights, 1.0F / 127), codes(v, 0.02F)});
    const ValueId turned =
        emit("Transpose", {context}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
    const ValueId shape =
        emit("Concat", {dimension(turned, 0), dimension(turned, 1), list({width_})}, {{"axis", 0}});
    return dense(emit("Reshape", {turned, shape}), width_, width_, name + "_out");
  }

  ValueId gelu(ValueId x) {
    const ValueId e = emit("Erf", {emit("Div", {x, number(std::sqrt(2.0F))})});
    return emit("Mul", {emit("Mul", {x, emit("Add", {e, number(1)})}), number(0.5F)});
  }

  ValueId layer(ValueId x, ValueId bias, const std::string& name) {
    x = norm(emit("Add", {attention(x, bias, name), x}));
    const ValueId inner = gelu(dense(x, width_, o_.inner, name + "_up"));
    return norm(emit("Add", {dense(inner, o_.inner, width_, name + "_down"), x}));
  }

  BertOptions o_;
  int64_t width_;
  int count_ = 0;
  Graph g_;
  Philox random_{11};
};

/// ids, mask and types [n, s]; the mask leaves out the end of every second row.
inline std::vector<Tensor> random_tokens(int64_t n, int64_t s, uint64_t seed) {
  Philox random(seed);
  std::vector<Tensor> out;
  out.reserve(3);
  for (int i = 0; i < 3; ++i)
    out.push_back(Tensor::zeros(DType::kInt64, {n, s}).value());
  for (int64_t r = 0; r < n; ++r)
    for (int64_t c = 0; c < s; ++c) {
      const auto at = static_cast<size_t>(r * s + c);
      out[0].mutable_data<int64_t>()[at] = static_cast<int64_t>(random.below(50));
      out[1].mutable_data<int64_t>()[at] = r % 2 == 0 || c < (s + 1) / 2 ? 1 : 0;
      out[2].mutable_data<int64_t>()[at] = c > s / 2 ? 1 : 0;
    }
  return out;
}

} // namespace octet::test
