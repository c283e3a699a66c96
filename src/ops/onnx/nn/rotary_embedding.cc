// SPDX-License-Identifier: Apache-2.0
// RotaryEmbedding (opset 23). x: [B, H, S, D] or [B, S, H * D]; cos, sin: [P, R / 2] with
// position_ids [B, S], or [B, S, R / 2] without. The first R of D elements (R =
// rotary_embedding_dim, 0: all) are pairs, either the two halves or, interleaved, neighbours; each
// pair (a, b) becomes (a cos - b sin, a sin + b cos).
#include <algorithm>

#include "core/format.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_RotaryEmbedding {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 3, 4));
  for (size_t i = 0; i < 3; ++i)
    OCTET_TRY(check_input(c, i, kFloatTypes));
  OCTET_TRY(check_optional(c, 3, kInt64Type));
  OCTET_TRY(check_rank(c, 0, 3, 4));
  for (size_t i = 1; i < 3; ++i)
    OCTET_TRY(check_rank(c, i, c.has(3) ? 2 : 3, c.has(3) ? 2 : 3));
  OCTET_TRY(check_rank(c, 3, 2, 2));
  const TypeInfo& x = c.input(0).type;
  const int64_t heads = c.node.attr_int("num_heads", 0);
  if (x.has_rank() && x.rank() == 3) {
    if (heads < 1) return Error("an input of rank 3 without num_heads; give it");
    const Dim& columns = (*x.shape)[2];
    if (columns.is_constant() && columns.value() % heads != 0)
      return error("{} columns in {} heads; make them divide", columns.value(), heads);
  }
  return one(x);
}

struct Sizes {
  int64_t batch, heads, positions, size, rotary;
  bool packed; ///< heads inside the last axis
};

Result<Sizes> sizes_of(const EvalContext& c) {
  const Tensor& x = c.inputs[0];
  Sizes s{};
  s.packed = x.rank() == 3;
  s.batch = x.dim(0);
  s.heads = s.packed ? c.node.attr_int("num_heads", 1) : x.dim(1);
  s.positions = x.dim(s.packed ? 1 : 2);
  s.size = s.packed ? x.dim(2) / s.heads : x.dim(3);
  s.rotary = c.node.attr_int("rotary_embedding_dim", 0);
  if (s.rotary == 0) s.rotary = s.size;
  if (s.rotary < 2 || s.rotary % 2 != 0 || s.rotary > s.size)
    return error("rotary_embedding_dim {} for heads of {}; use an even number up to that", s.rotary,
                 s.size);
  for (size_t i = 1; i < 3; ++i) {
    const Tensor& cache = c.inputs[i];
    const bool fits = cache.shape().back() == s.rotary / 2 &&
                      (c.has(3) || (cache.dim(0) == s.batch && cache.dim(1) == s.positions));
    if (!fits)
      return error("input {} has shape {}; its last axis must be {}, the others fit the positions",
                   i, to_string(cache.shape()), s.rotary / 2);
  }
  if (c.has(3) && c.inputs[3].shape() != Shape{s.batch, s.positions})
    return error("position_ids has shape {}; give [{}, {}]", to_string(c.inputs[3].shape()),
                 s.batch, s.positions);
  return s;
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  OCTET_TRY(infer_values(infer, c));
  const Sizes s = OCTET_TRY(sizes_of(c));
  auto x = OCTET_TRY(c.inputs[0].to_doubles());
  const auto cos = OCTET_TRY(c.inputs[1].to_doubles());
  const auto sin = OCTET_TRY(c.inputs[2].to_doubles());
  std::vector<int64_t> ids;
  if (c.has(3)) ids = OCTET_TRY(c.inputs[3].to_ints());
  const bool interleaved = c.node.attr_int("interleaved", 0) != 0;
  const int64_t half = s.rotary / 2;
  const auto places = static_cast<int64_t>(std::min(cos.size(), sin.size())) / half;
  for (int64_t row = 0; row < s.batch * s.positions; ++row) {
    const int64_t place = ids.empty() ? row : ids[static_cast<size_t>(row)];
    if (place < 0 || place >= places)
      return error("position {} is outside the caches; give longer ones", place);
    const int64_t b = row / s.positions, p = row % s.positions;
    for (int64_t h = 0; h < s.heads; ++h) {
      double* v = x.data() + (s.packed ? (row * s.heads + h) * s.size
                                       : ((b * s.heads + h) * s.positions + p) * s.size);
      for (int64_t i = 0; i < half; ++i) {
        double& first = v[interleaved ? 2 * i : i];
        double& second = v[interleaved ? 2 * i + 1 : i + half];
        const double cosine = cos[static_cast<size_t>(place * half + i)],
                     sine = sin[static_cast<size_t>(place * half + i)], a = first;
        first = a * cosine - second * sine;
        second = a * sine + second * cosine;
      }
    }
  }
  return one(OCTET_TRY(rounded(c.inputs[0].type(), c.inputs[0].shape(), x)));
}

} // namespace

extern const OpFacets facets = {
    .since = 23,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_RotaryEmbedding
