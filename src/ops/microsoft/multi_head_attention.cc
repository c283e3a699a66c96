// SPDX-License-Identifier: Apache-2.0
// MultiHeadAttention (com.microsoft 1). y = softmax(scale q k^T + mask + attention bias) v for each
// head. q: [B, S, H * D]; k, v: [B, T, H * D], or [B, H, T, D] as another attention handed them on;
// bias?: of q, k and v behind one another; key_padding_mask? (int32): [B] or [3 B + 2] lengths of
// keys, [B, T] or [B, S, T] with 1 where a key counts; attention_bias?: broadcast to
// [B, H, S, T]; past_key?, past_value?: [B, H, P, D], which stand before k and v: T is P + their
// steps. Outputs y: [B, S, H * D of v], and k and v as [B, H, T, D]. unidirectional: query i sees
// the keys up to P + i. Packed q, k and v, shared buffers and beams are refused.
#include <limits>

#include "core/format.h"
#include "ops/microsoft/heads.h"
#include "ops/shared/movement.h"

namespace octet::ms::op_MultiHeadAttention {
namespace {

enum Place : size_t { kQuery, kKey, kValue, kBias, kMask, kAdded, kPastKey, kPastValue, kBuffer };

/// Rows, heads, steps and the size of a head, as far as they are known. `type` has a rank.
Result<std::vector<Dim>> by_heads(const TypeInfo& type, int64_t heads, size_t input) {
  const auto& s = *type.shape;
  if (s.size() == 4) return s;
  if (s[2].is_constant() && s[2].value() % heads != 0)
    return error("input {}: {} columns in {} heads; make them divide", input, s[2].value(), heads);
  return std::vector<Dim>{s[0], Dim(heads), s[1], s[2] / Dim(heads)};
}

Status check_inputs(const InferContext& c) {
  OCTET_TRY(check_count(c, 1, 10));
  if (c.node.attr_int("num_heads", 0) < 1)
    return error("num_heads is {}; give a positive number", c.node.attr_int("num_heads", 0));
  for (const size_t i : {kQuery, kKey, kValue, kBias, kAdded, kPastKey, kPastValue})
    OCTET_TRY(check_optional(c, i, kFloatTypes));
  OCTET_TRY(check_optional(c, kMask, TypeSet{DType::kInt32}));
  const auto packed = [&](size_t i) {
    return c.has(i) && c.input(i).type.has_rank() && c.input(i).type.rank() == 5;
  };
  if (!c.has(kKey) || !c.has(kValue) || packed(kQuery) || packed(kKey))
    return error(ErrorCode::kUnsupported,
                 "packed queries, keys and values are not evaluated; give three inputs");
  if (c.has(kBuffer) || c.has(kBuffer + 1))
    return error(ErrorCode::kUnsupported, "shared buffers and beams are not evaluated");
  if (c.node.output(3).valid())
    return error(ErrorCode::kUnsupported, "the scores are not given; drop the output qk");
  OCTET_TRY(check_rank(c, kQuery, 3, 3));
  OCTET_TRY(check_rank(c, kKey, 3, 4));
  OCTET_TRY(check_rank(c, kValue, 3, 4));
  OCTET_TRY(check_rank(c, kBias, 1, 1));
  OCTET_TRY(check_rank(c, kMask, 1, 3));
  OCTET_TRY(check_rank(c, kAdded, 0, 4));
  OCTET_TRY(check_rank(c, kPastKey, 4, 4));
  OCTET_TRY(check_rank(c, kPastValue, 4, 4));
  if (c.has(kPastKey) != c.has(kPastValue))
    return Error("past_key and past_value go together; give both or none");
  return ok_status();
}

/// Of keys and values with heads apart, what else may not stand beside them.
Status check_apart(const InferContext& c, bool apart) {
  if (!apart) return ok_status();
  if (c.has(kBias) || c.has(kPastKey))
    return Error("bias, past_key or past_value beside keys of rank 4; give keys of rank 3");
  return ok_status();
}

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_inputs(c));
  const int64_t heads = c.node.attr_int("num_heads", 0);
  const DType type = c.input(kQuery).type.type;
  TypeInfo y, kept;
  y.type = kept.type = type;
  y.shape = unknown_dims(3);
  kept.shape = unknown_dims(4);
  for (const size_t i : {kQuery, kKey, kValue})
    if (!c.input(i).type.has_rank()) return std::vector<OutputInfo>{y, kept, kept};
  const int64_t rank = c.input(kKey).type.rank();
  OCTET_TRY(check_rank(c, kValue, rank, rank));
  OCTET_TRY(check_apart(c, rank == 4));
  const auto q = OCTET_TRY(by_heads(c.input(kQuery).type, heads, kQuery));
  auto k = OCTET_TRY(by_heads(c.input(kKey).type, heads, kKey));
  auto v = OCTET_TRY(by_heads(c.input(kValue).type, heads, kValue));
  OCTET_TRY(merge_dims(q[0], k[0], "batches of queries and keys"));
  OCTET_TRY(merge_dims(k[0], v[0], "batches of keys and values"));
  OCTET_TRY(merge_dims(k[1], Dim(heads), "heads of keys and num_heads"));
  OCTET_TRY(merge_dims(v[1], Dim(heads), "heads of values and num_heads"));
  OCTET_TRY(merge_dims(k[2], v[2], "steps of keys and values"));
  OCTET_TRY(merge_dims(q[3], k[3], "head sizes of queries and keys"));
  OCTET_TRY(check_vector(c, kBias, (q[3] + k[3] + v[3]) * Dim(heads),
                         "elements of the bias and columns of q, k and v"));
  if (c.has(kPastKey)) {
    const TypeInfo& past = c.input(kPastKey).type;
    k[2] = past.has_rank() ? (*past.shape)[2] + k[2] : Dim::unknown();
    v[2] = k[2];
  }
  return std::vector<OutputInfo>{one(type, std::vector<Dim>{q[0], q[2], Dim(heads) * v[3]})[0],
                                 one(type, k)[0], one(type, v)[0]};
}

/// A term for each score where a key does not count.
class Padding {
 public:
  Padding(std::vector<int64_t> values, Shape shape, double filter, const Heads& q, int64_t keys)
      : values_(std::move(values)), shape_(std::move(shape)), filter_(filter), queries_(q.steps),
        keys_(keys) {}

  double operator()(int64_t b, int64_t i, int64_t j) const {
    if (shape_.empty()) return 0;
    if (shape_.size() == 1) return j < values_[static_cast<size_t>(b)] ? 0 : filter_;
    const int64_t row = shape_.size() == 2 ? b : b * queries_ + i;
    return values_[static_cast<size_t>(row * keys_ + j)] > 0 ? 0 : filter_;
  }

 private:
  std::vector<int64_t> values_;
  Shape shape_;
  double filter_;
  int64_t queries_, keys_;
};

Result<Padding> padding_of(const EvalContext& c, const Heads& q, int64_t keys) {
  const double filter = c.node.attr_float("mask_filter_value", -10000.0F);
  if (!c.has(kMask)) return Padding({}, {}, filter, q, keys);
  const Tensor& mask = c.inputs[kMask];
  const bool fits = mask.shape() == Shape{q.batch} || mask.shape() == Shape{3 * q.batch + 2} ||
                    mask.shape() == Shape{q.batch, keys} ||
                    mask.shape() == Shape{q.batch, q.steps, keys};
  if (!fits)
    return error("a mask of shape {} for {} rows, {} queries and {} keys; use [B], [3 B + 2], "
                 "[B, T] or [B, S, T]",
                 to_string(mask.shape()), q.batch, q.steps, keys);
  return Padding(OCTET_TRY(mask.to_ints()), mask.shape(), filter, q, keys);
}

/// One input with its part of the bias.
Result<Heads> projected(const EvalContext& c, size_t input, int64_t heads, int64_t bias_begin) {
  const Tensor& x = c.inputs[input];
  if (x.rank() == 4) return heads_of(x);
  Heads out = OCTET_TRY(heads_of_columns(x, 0, heads, x.dim(2) / heads));
  for (int64_t i = 0; c.has(kBias) && i < out.count(); ++i) {
    const int64_t column = i / (out.steps * out.size) % heads * out.size + i % out.size;
    out.values[static_cast<size_t>(i)] += c.inputs[kBias].at(bias_begin + column);
  }
  return out;
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  const auto outputs = OCTET_TRY(infer_values(infer, c));
  const Shape shape = OCTET_TRY(shape_of(outputs[0]));
  const int64_t heads = c.node.attr_int("num_heads", 0), width = c.inputs[kQuery].dim(2);
  const Heads q = OCTET_TRY(projected(c, kQuery, heads, 0));
  Heads k = OCTET_TRY(projected(c, kKey, heads, width));
  Heads v = OCTET_TRY(projected(c, kValue, heads, 2 * width));
  int64_t past = 0;
  if (c.has(kPastKey)) {
    past = c.inputs[kPastKey].dim(2);
    k = OCTET_TRY(behind(OCTET_TRY(heads_of(c.inputs[kPastKey])), k));
    v = OCTET_TRY(behind(OCTET_TRY(heads_of(c.inputs[kPastValue])), v));
    if (k.steps != v.steps)
      return error("{} keys and {} values with the past; make them equal", k.steps, v.steps);
  }
  const Padding padding = OCTET_TRY(padding_of(c, q, k.steps));
  const Shape scores = {q.batch, heads, q.steps, k.steps};
  std::vector<double> added;
  std::vector<int64_t> from;
  if (c.has(kAdded)) {
    const Tensor& bias = c.inputs[kAdded];
    if (OCTET_TRY(broadcast_shapes(std::vector<Shape>{scores, bias.shape()})) != scores)
      return error("an attention bias of shape {} does not fit scores {}", to_string(bias.shape()),
                   to_string(scores));
    added = OCTET_TRY(bias.to_doubles());
    from = broadcast_index(bias.shape(), scores);
  }
  const bool causal = c.node.attr_int("unidirectional", 0) != 0;
  const auto term = [&](int64_t b, int64_t h, int64_t i, int64_t j) {
    if (causal && j > past + i) return -std::numeric_limits<double>::infinity();
    const int64_t at = ((b * heads + h) * q.steps + i) * k.steps + j;
    return padding(b, i, j) +
           (added.empty() ? 0 : added[static_cast<size_t>(from[static_cast<size_t>(at)])]);
  };
  HeadAttention a;
  a.scale = c.node.attr_float("scale", 0);
  const auto y = attend_heads(a, q, k, v, term);
  const DType type = c.inputs[kQuery].type();
  return std::vector<Tensor>{OCTET_TRY(rounded(type, shape, y)), OCTET_TRY(k.tensor(type)),
                             OCTET_TRY(v.tensor(type))};
}

Role roles(const Node&, size_t input) {
  return input == kBias ? Role::kBias : input == kMask ? Role::kConstant : Role::kData;
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = roles,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.products = true, .optional_outputs = 0b110},
};

} // namespace octet::ms::op_MultiHeadAttention
