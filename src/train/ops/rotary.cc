// SPDX-License-Identifier: Apache-2.0
// RotaryEmbedding of ai.onnx and of com.microsoft. The first R of D elements are pairs, the two
// halves or, interleaved, neighbours; (a, b) becomes (a cos - b sin, a sin + b cos).
#include "train/ops/mapping.h"
#include "train/ops/widened.h"
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/slice.h>
#include <ATen/ops/stack.h>

using octet::train::Call;
using octet::train::widened;

namespace {

struct Rotary {
  int64_t heads, rotated;
  bool interleaved;
  explicit Rotary(const octet::Node& node)
      : heads(node.attr_int("num_heads", 0)), rotated(node.attr_int("rotary_embedding_dim", 0)),
        interleaved(node.attr_int("interleaved", 0) != 0) {}
};

/// x: [B, H, S, D] or [B, S, H * D]; cos, sin: [B or 1, S, R / 2].
at::Tensor
rotate(const Rotary& a, const at::Tensor& given, const at::Tensor& cos, const at::Tensor& sin) {
  const bool packed = given.dim() == 3;
  TORCH_CHECK(packed || given.dim() == 4, "rank ", given.dim(), "; give 3 or 4");
  at::Tensor x = widened(given);
  if (packed) {
    TORCH_CHECK(a.heads > 0 && x.size(2) % a.heads == 0, x.size(2), " columns in ", a.heads,
                " heads; make them divide");
    x = x.reshape({x.size(0), x.size(1), a.heads, x.size(2) / a.heads});
  }
  const int64_t size = x.size(3), rotated = a.rotated == 0 ? size : a.rotated, half = rotated / 2;
  TORCH_CHECK(rotated >= 2 && rotated % 2 == 0 && rotated <= size, "rotary_embedding_dim ", rotated,
              " for heads of ", size);
  TORCH_CHECK(cos.size(-1) == half && sin.size(-1) == half, "cos and sin have ", cos.size(-1),
              " and ", sin.size(-1), " columns where ", half, " are needed");
  const at::Tensor c = widened(cos).unsqueeze(packed ? 2 : 1);
  const at::Tensor s = widened(sin).unsqueeze(packed ? 2 : 1);
  const at::Tensor first =
      a.interleaved ? at::slice(x, 3, 0, rotated, 2) : at::slice(x, 3, 0, half);
  const at::Tensor second =
      a.interleaved ? at::slice(x, 3, 1, rotated, 2) : at::slice(x, 3, half, rotated);
  const at::Tensor left = first * c - second * s, right = first * s + second * c;
  at::Tensor y = a.interleaved ? at::stack({left, right}, 4).flatten(3) : at::cat({left, right}, 3);
  if (rotated < size) y = at::cat({y, x.narrow(3, rotated, size - rotated)}, 3);
  return y.reshape(given.sizes()).to(given.scalar_type());
}

/// The rows of a cache [P, R / 2] at places [B, S].
at::Tensor rows_at(const at::Tensor& cache, const at::Tensor& places) {
  const at::Tensor rows = at::index_select(cache, 0, places.reshape({-1}));
  return rows.reshape({places.size(0), places.size(1), cache.size(1)});
}

} // namespace

OCTET_TORCH(onnx, RotaryEmbedding) {
  return [a = Rotary(p.node)](Call& c) {
    at::Tensor cos = c.in(1), sin = c.in(2);
    if (c.has(3)) {
      const at::Tensor places = c.in(3).to(cos.device(), at::kLong);
      cos = rows_at(cos, places);
      sin = rows_at(sin, places);
    }
    c.out(rotate(a, c.in(0), cos, sin));
  };
}

OCTET_TORCH(ms, RotaryEmbedding) {
  if (p.node.attr_int("is_packed_batching", 0) != 0) return {};
  return [a = Rotary(p.node)](Call& c) {
    const at::Tensor &x = c.in(0), &cos = c.in(2);
    // One number is the place of each row's first token.
    at::Tensor places = c.in(1).to(cos.device(), at::kLong);
    if (places.dim() < 2)
      places = places.reshape({1, 1}) + at::arange(x.size(-2), places.options());
    Rotary own = a;
    if (x.dim() == 3 && a.heads == 0 && cos.size(1) > 0) own.heads = x.size(2) / (2 * cos.size(1));
    c.out(rotate(own, x, rows_at(cos, places), rows_at(c.in(3), places)));
  };
}
