// SPDX-License-Identifier: Apache-2.0
// Attention (opset 23): LibTorch's fused function, or its parts where a node asks for a soft cap or
// for its scores. A row that may look at nothing gives zeros and passes no gradient.
#include "train/ops/attention.h"

#include <cmath>
#include <limits>
#include <optional>

#include "train/ops/widened.h"
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros.h>

using octet::Node;
using octet::train::blind_rows;
using octet::train::Call;
using octet::train::widened;

namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();

} // namespace

namespace octet::train {

at::Tensor split_heads(const at::Tensor& x, int64_t heads) {
  TORCH_CHECK(x.dim() == 3 && heads > 0 && x.size(2) % heads == 0, "rank ", x.dim(), " and ", heads,
              " heads; give rank 4, or heads that divide the columns");
  return x.reshape({x.size(0), x.size(1), heads, x.size(2) / heads}).transpose(1, 2);
}

at::Tensor joined_heads(const at::Tensor& x) {
  return x.transpose(1, 2).flatten(2);
}

at::Tensor blind_rows(const at::Tensor& bias) {
  return bias.defined() ? (bias == kHidden).all(-1, true) : at::Tensor();
}

at::Tensor four_axes(at::Tensor x) {
  while (x.dim() < 4)
    x = x.unsqueeze(0);
  return x;
}

at::Tensor with_hidden(const at::Tensor& bias,
                       at::Tensor hidden,
                       double score,
                       const at::TensorOptions& options) {
  return (bias.defined() ? bias : at::zeros({1, 1, 1, 1}, options))
      .masked_fill(four_axes(std::move(hidden)), score);
}

at::Tensor attended(const at::Tensor& q,
                    const at::Tensor& k,
                    const at::Tensor& v,
                    at::Tensor bias,
                    double scale,
                    bool causal) {
  if (!bias.defined())
    return at::scaled_dot_product_attention(q, k, v, std::nullopt, 0.0, causal, scale);
  const at::Tensor blind = blind_rows(bias);
  bias = bias.masked_fill(blind, 0);
  return at::scaled_dot_product_attention(q, k, v, bias, 0.0, false, scale).masked_fill(blind, 0);
}

} // namespace octet::train

namespace {

struct AttentionForm {
  explicit AttentionForm(const Node& node)
      : q_heads(node.attr_int("q_num_heads", 0)), kv_heads(node.attr_int("kv_num_heads", 0)),
        mode(node.attr_int("qk_matmul_output_mode", 0)),
        left(node.attr_int("left_window_size", -1)), right(node.attr_int("right_window_size", -1)),
        causal(node.attr_int("is_causal", 0) != 0), softcap(node.attr_float("softcap", 0)) {
    if (node.has_attr("scale")) scale = node.attr_float("scale", 1);
  }
  int64_t q_heads, kv_heads, mode, left, right;
  bool causal;
  double softcap;
  std::optional<double> scale;
};

/// [B, H, S, D] of q, k or v, in at least f32.
at::Tensor by_heads(const at::Tensor& x, int64_t heads) {
  return x.dim() == 4 ? widened(x) : octet::train::split_heads(widened(x), heads);
}

struct Scores {
  int64_t queries, keys, past;
};

/// Which keys a query may not see for its place; undefined: it sees all.
at::Tensor hidden_places(const Call& c, const AttentionForm& a, const Scores& s, c10::Device at) {
  const at::TensorOptions i64 = at::TensorOptions(at).dtype(at::kLong);
  const at::Tensor key = at::arange(s.keys, i64);
  at::Tensor place = at::arange(s.queries, i64).unsqueeze(1) + s.past, hidden;
  const auto hide = [&](const at::Tensor& more) {
    hidden = hidden.defined() ? hidden.logical_or(more) : more;
  };
  if (c.has(6)) { // how many keys of each row are none of the padding
    const at::Tensor length = c.in(6).to(at, at::kLong).view({-1, 1, 1, 1});
    place = place - s.past + length - s.queries;
    hide(key >= length);
  }
  if (a.causal) hide(key > place);
  if (a.left >= 0) hide(key < place - a.left);
  if (a.right >= 0) hide(key > place + a.right);
  return hidden;
}

/// What is added to the scores, four axes that broadcast to theirs; undefined: nothing.
at::Tensor
attention_bias(const Call& c, const AttentionForm& a, const Scores& s, const at::Tensor& q) {
  at::Tensor bias;
  if (c.has(3)) {
    const at::Tensor mask = c.in(3).to(q.device());
    bias = mask.scalar_type() == at::kBool
               ? at::zeros(mask.sizes(), q.options()).masked_fill(mask.logical_not(), kHidden)
               : mask.to(q.scalar_type());
    // A shorter mask hides what it does not reach.
    if (bias.size(-1) < s.keys)
      bias = at::constant_pad_nd(bias, {0, s.keys - bias.size(-1)}, kHidden);
    bias = octet::train::four_axes(bias);
  }
  const at::Tensor hidden = hidden_places(c, a, s, q.device());
  return hidden.defined() ? octet::train::with_hidden(bias, hidden, kHidden, q.options()) : bias;
}

/// The fourth output is what the scores are at the stage that the node names.
at::Tensor attend_in_parts(Call& c,
                           const AttentionForm& a,
                           const at::Tensor& q,
                           const at::Tensor& k,
                           const at::Tensor& v,
                           double scale,
                           const at::Tensor& bias) {
  const at::Tensor blind = blind_rows(bias);
  const auto show = [&](int64_t stage, const at::Tensor& scores) {
    if (a.mode == stage) c.out(scores.to(c.in(0).scalar_type()), 3);
  };
  at::Tensor scores = at::matmul(q, k.transpose(-1, -2)) * scale;
  show(0, scores);
  if (a.softcap > 0) scores = at::tanh(scores / a.softcap) * a.softcap;
  show(1, scores);
  if (bias.defined()) scores = scores + bias;
  show(2, scores);
  if (blind.defined()) scores = scores.masked_fill(blind, 0);
  scores = at::softmax(scores, -1);
  if (blind.defined()) scores = scores.masked_fill(blind, 0);
  show(3, scores);
  return at::matmul(scores, v);
}

} // namespace

OCTET_TORCH(onnx, Attention) {
  return [a = AttentionForm(p.node)](Call& c) {
    const at::Tensor q = by_heads(c.in(0), a.q_heads);
    at::Tensor k = by_heads(c.in(1), a.kv_heads), v = by_heads(c.in(2), a.kv_heads);
    Scores s{q.size(2), k.size(2), 0};
    if (c.has(4)) {
      s.past = c.in(4).size(2);
      s.keys += s.past;
      k = at::cat({widened(c.in(4)), k}, 2);
      v = at::cat({widened(c.in(5)), v}, 2);
    }
    c.out(k.to(c.in(1).scalar_type()), 1);
    c.out(v.to(c.in(2).scalar_type()), 2);
    TORCH_CHECK(k.size(1) > 0 && q.size(1) % k.size(1) == 0, q.size(1), " query heads for ",
                k.size(1), " key heads; make them divide");
    if (const int64_t groups = q.size(1) / k.size(1); groups > 1) {
      k = k.repeat_interleave(groups, 1);
      v = v.repeat_interleave(groups, 1);
    }
    const double scale = a.scale.value_or(1 / std::sqrt(static_cast<double>(k.size(3))));
    const bool plain = !c.has(3) && !c.has(6) && a.left < 0 && a.right < 0 && s.past == 0;
    const bool fused = a.softcap <= 0 && !c.wants(3);
    at::Tensor bias;
    if (!(plain && (fused || !a.causal))) bias = attention_bias(c, a, s, q);
    at::Tensor y = fused ? octet::train::attended(q, k, v, bias, scale, plain && a.causal)
                         : attend_in_parts(c, a, q, k, v, scale, bias);
    if (c.in(0).dim() == 3) y = octet::train::joined_heads(y);
    c.out(y.to(c.in(0).scalar_type()));
  };
}
