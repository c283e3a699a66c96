// SPDX-License-Identifier: Apache-2.0
// Attention, MultiHeadAttention and EmbedLayerNormalization of com.microsoft, which ONNX Runtime's
// optimizer writes into transformers.
#include <cmath>
#include <limits>
#include <optional>

#include "train/ops/attention.h"
#include "train/ops/widened.h"
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/native_layer_norm.h>
#include <ATen/ops/zeros.h>

using octet::Node;
using octet::train::Call;
using octet::train::widened;

namespace {

/// The score of a key that does not count, or 0 for one that does: [B, 1, S or 1, T] of a mask with
/// lengths [B], ends and starts [2 B], lengths and more [3 B + 2], or with 1 where a key counts:
/// [B, T], [B, S, T]. Undefined: all count. Attention takes one column for no mask.
at::Tensor padding_bias(const at::Tensor& mask,
                        int64_t batch,
                        int64_t queries,
                        int64_t keys,
                        double filter,
                        const at::TensorOptions& options) {
  at::Tensor counts;
  if (mask.dim() == 1) {
    const at::Tensor key = at::arange(keys, mask.options());
    const int64_t count = mask.numel();
    TORCH_CHECK(count == batch || count == 2 * batch || count == 3 * batch + 2, "a mask of ", count,
                " elements for ", batch, " rows");
    const auto column = [&](int64_t begin) { return mask.narrow(0, begin, batch).unsqueeze(1); };
    counts = key < column(0);
    if (count == 2 * batch) counts = counts.logical_and(key >= column(batch));
  } else {
    const bool of_keys = mask.size(0) == batch && mask.size(1) == keys;
    if (mask.dim() == 2 && mask.size(1) == 1 && !of_keys) return {};
    counts = mask > 0;
  }
  if (counts.dim() == 2) counts = counts.unsqueeze(1);
  TORCH_CHECK(counts.dim() == 3 && counts.size(0) == batch && counts.size(2) == keys &&
                  (counts.size(1) == 1 || counts.size(1) == queries),
              "a mask of shape ", mask.sizes(), " for ", batch, " rows, ", queries, " queries and ",
              keys, " keys");
  return at::zeros(counts.sizes(), options)
      .masked_fill(counts.to(options.device()).logical_not(), filter)
      .unsqueeze(1);
}

/// The sum of what is there.
at::Tensor sum_of_biases(const at::Tensor& a, const at::Tensor& b) {
  if (!a.defined()) return b;
  return b.defined() ? a + b : a;
}

/// A bias whose score of each key behind a query is `hidden`; `past` keys stand before the first.
at::Tensor causal_bias(const at::Tensor& bias,
                       int64_t queries,
                       int64_t keys,
                       int64_t past,
                       double hidden,
                       const at::TensorOptions& options) {
  const at::TensorOptions i64 = options.dtype(at::kLong);
  const at::Tensor behind = at::arange(keys, i64) > at::arange(queries, i64).unsqueeze(1) + past;
  return octet::train::with_hidden(bias, behind, hidden, options);
}

struct HeadsAttention {
  explicit HeadsAttention(const Node& node)
      : heads(node.attr_int("num_heads", 0)), scale(node.attr_float("scale", 0)),
        filter(node.attr_float("mask_filter_value", -10000.0F)),
        causal(node.attr_int("unidirectional", 0) != 0) {}
  double scale_of(const at::Tensor& q) const {
    return scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(q.size(3)));
  }
  int64_t heads;
  double scale, filter;
  bool causal;
};

} // namespace

OCTET_TORCH(ms, Attention) {
  if (p.node.attr_int("do_rotary", 0) != 0 || p.has(4) || p.node.output(1).valid()) return {};
  const std::vector<int64_t> sizes = p.node.attr_ints("qkv_hidden_sizes");
  return [a = HeadsAttention(p.node), sizes](Call& c) {
    at::Tensor all = at::matmul(widened(c.in(0)), widened(c.in(1)));
    if (c.has(2)) all = all + c.in(2);
    const int64_t width = sizes.empty() ? all.size(2) / 3 : sizes.at(0);
    const int64_t steps = all.size(1);
    const auto part = [&](int64_t begin, int64_t size) {
      return octet::train::split_heads(all.narrow(2, begin, size), a.heads);
    };
    const at::Tensor q = part(0, width), k = part(width, width),
                     v = part(2 * width, all.size(2) - 2 * width);
    at::Tensor bias;
    if (c.has(3)) bias = padding_bias(c.in(3), q.size(0), steps, steps, a.filter, q.options());
    if (c.has(5)) bias = sum_of_biases(bias, octet::train::four_axes(c.in(5).to(q.scalar_type())));
    if (a.causal)
      bias = causal_bias(bias, steps, steps, 0, std::numeric_limits<float>::lowest(), q.options());
    const at::Tensor y = octet::train::attended(q, k, v, bias, a.scale_of(q));
    c.out(octet::train::joined_heads(y).to(c.in(0).scalar_type()));
  };
}

OCTET_TORCH(ms, MultiHeadAttention) {
  // Packed inputs, shared buffers and beams, which the reference refuses.
  if (!p.has(1) || !p.has(2) || p.has(8) || p.has(9) || p.node.output(3).valid()) return {};
  return [a = HeadsAttention(p.node)](Call& c) {
    const int64_t width = c.in(0).size(-1);
    const auto projected = [&](size_t i, int64_t begin) {
      at::Tensor x = widened(c.in(i));
      if (x.dim() == 4) return x;
      if (c.has(3)) x = x + c.in(3).narrow(0, begin, x.size(2));
      return octet::train::split_heads(x, a.heads);
    };
    const at::Tensor q = projected(0, 0);
    at::Tensor k = projected(1, width), v = projected(2, 2 * width);
    if (c.has(6)) {
      k = at::cat({widened(c.in(6)), k}, 2);
      v = at::cat({widened(c.in(7)), v}, 2);
    }
    const at::ScalarType type = c.in(0).scalar_type();
    c.out(k.to(type), 1);
    c.out(v.to(type), 2);
    const int64_t queries = q.size(2), keys = k.size(2);
    at::Tensor bias;
    if (c.has(4)) bias = padding_bias(c.in(4), q.size(0), queries, keys, a.filter, q.options());
    if (c.has(5)) bias = sum_of_biases(bias, octet::train::four_axes(c.in(5).to(q.scalar_type())));
    if (a.causal)
      bias = causal_bias(bias, queries, keys, c.has(6) ? c.in(6).size(2) : 0,
                         -std::numeric_limits<double>::infinity(), q.options());
    const at::Tensor y = octet::train::attended(q, k, v, bias, a.scale_of(q));
    c.out(octet::train::joined_heads(y).to(type));
  };
}

OCTET_TORCH(ms, EmbedLayerNormalization) {
  const double epsilon = p.node.attr_float("epsilon", 1e-12F);
  return [epsilon](Call& c) {
    const auto rows = [&](size_t table, const at::Tensor& ids) {
      return widened(at::embedding(c.in(table), ids.to(c.in(table).device(), at::kLong)));
    };
    const at::Tensor& ids = c.in(0);
    at::Tensor sum = rows(2, ids);
    sum = sum + rows(3, c.has(8) ? c.in(8) : at::arange(ids.size(1), ids.options()).unsqueeze(0));
    if (c.has(1)) sum = sum + rows(4, c.in(1));
    const at::ScalarType type = c.in(2).scalar_type();
    const std::optional<at::Tensor> bias =
        c.has(6) ? std::optional(widened(c.in(6))) : std::nullopt;
    c.out(std::get<0>(at::native_layer_norm(sum, {sum.size(2)}, widened(c.in(5)), bias, epsilon))
              .to(type));
    c.out(c.has(7) ? (c.in(7) == 1).sum(1).to(at::kInt)
                   : at::zeros({ids.size(0)}, ids.options().dtype(at::kInt)),
          1);
    c.out(sum.to(type), 2);
  };
}
