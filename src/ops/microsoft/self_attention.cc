// SPDX-License-Identifier: Apache-2.0
#include "ops/microsoft/self_attention.h"

#include <cmath>
#include <limits>

#include "core/format.h"
#include "core/numerics/round.h"
#include "ops/shared/axis_split.h"
#include "ops/shared/movement.h"

namespace octet::ms {
namespace {

/// Which keys count, as a term for each score: 0, or the filter. A mask of one column that is not
/// that of one step only stands where one is expected, as in ONNX Runtime.
Result<std::vector<double>>
mask_terms(const SelfAttention& a, int64_t batch, int64_t steps, const Tensor& mask) {
  std::vector<double> terms(static_cast<size_t>(batch * steps * steps));
  if (mask.empty()) return terms;
  const bool of_keys = mask.rank() == 2 && mask.dim(0) == batch && mask.dim(1) == steps;
  const bool stands_in =
      mask.rank() == 2 && mask.dim(1) == 1 && (mask.dim(0) == batch || mask.dim(0) == 1);
  if (stands_in && !of_keys) return terms;
  const auto values = OCTET_TRY(mask.to_ints());
  const auto at = [&](int64_t i) { return values[static_cast<size_t>(i)]; };
  const bool lengths = mask.rank() == 1;
  const int64_t wanted = mask.rank() == 1   ? (mask.count() == batch ? batch : 2 * batch)
                         : mask.rank() == 2 ? batch * steps
                                            : batch * steps * steps;
  if (mask.count() != wanted || mask.rank() > 3)
    return error("a mask of shape {} does not fit {} x {} tokens; use [B], [2 B], [B, S], "
                 "[B, S, S], or [1, 1] for none",
                 to_string(mask.shape()), batch, steps);
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t q = 0; q < steps; ++q)
      for (int64_t k = 0; k < steps; ++k) {
        bool counts = true;
        if (lengths)
          counts = k < at(b) && (mask.count() == batch || k >= at(batch + b));
        else
          counts = at(mask.rank() == 2 ? b * steps + k : (b * steps + q) * steps + k) > 0;
        if (!counts) terms[static_cast<size_t>((b * steps + q) * steps + k)] = a.filter;
      }
  return terms;
}

/// The value of the int8 code that is nearest.
double stepped(double value, double step) {
  if (step == 0) return value;
  return numerics::quantize(static_cast<float>(value), static_cast<float>(step), 0, -128, 127) *
         step;
}

} // namespace

Result<SelfAttention> parse_self_attention(const Node& node, int64_t columns) {
  SelfAttention a{.heads = node.attr_int("num_heads", 0),
                  .query = columns / 3,
                  .value = columns / 3,
                  .scale = static_cast<double>(node.attr_float("scale", 0)),
                  .filter = static_cast<double>(node.attr_float("mask_filter_value", -10000)),
                  .causal = node.attr_int("unidirectional", 0) != 0};
  const auto sizes = node.attr_ints("qkv_hidden_sizes");
  if (!sizes.empty()) {
    if (sizes.size() != 3 || sizes[0] != sizes[1])
      return Error("qkv_hidden_sizes holds the columns of q, of k (as many) and of v");
    a.query = sizes[0];
    a.value = sizes[2];
  }
  if (a.heads < 1 || a.query < 1 || a.value < 1 || a.query > columns || a.value > columns ||
      2 * a.query + a.value != columns || a.query % a.heads != 0 || a.value % a.heads != 0)
    return error("{} columns of weights do not split into q, k and v of {} heads", columns,
                 a.heads);
  if (node.attr_int("do_rotary", 0) != 0)
    return error(ErrorCode::kUnsupported, "do_rotary is not evaluated; use RotaryEmbedding");
  return a;
}

Result<std::vector<OutputInfo>>
infer_self_attention(const InferContext& ctx, size_t mask, size_t past, DType type) {
  OCTET_TRY(check_rank(ctx, 0, 3, 3));
  OCTET_TRY(check_rank(ctx, 1, 2, 2));
  OCTET_TRY(check_rank(ctx, 2, 1, 1));
  OCTET_TRY(check_optional(ctx, mask, TypeSet{DType::kInt32}));
  if (ctx.has(past) || ctx.node.output(1).valid())
    return error(ErrorCode::kUnsupported, "keys and values of earlier steps are not evaluated");
  const TypeInfo& x = ctx.input(0).type;
  const TypeInfo& w = ctx.input(1).type;
  std::vector<Dim> out = unknown_dims(3);
  if (x.has_rank()) out = {(*x.shape)[0], (*x.shape)[1], Dim::unknown()};
  if (w.has_rank()) {
    if (x.has_rank())
      OCTET_TRY(merge_dims((*x.shape)[2], (*w.shape)[0], "columns of x and rows of the weights"));
    OCTET_TRY(check_vector(ctx, 2, (*w.shape)[1], "bias elements and columns"));
    if ((*w.shape)[1].is_constant())
      out[2] = OCTET_TRY(parse_self_attention(ctx.node, (*w.shape)[1].value())).value;
  }
  return one(type, out);
}

Result<std::vector<double>> attend(const SelfAttention& a,
                                   std::span<const int64_t> x_shape,
                                   std::span<const double> projected,
                                   const Tensor& mask,
                                   const Tensor& bias) {
  const int64_t batch = x_shape[0], steps = x_shape[1];
  const int64_t row = 2 * a.query + a.value, size = a.query / a.heads, v_size = a.value / a.heads;
  const double scale = a.scale != 0 ? a.scale : 1 / std::sqrt(static_cast<double>(size));
  const auto terms = OCTET_TRY(mask_terms(a, batch, steps, mask));
  std::vector<int64_t> from;
  if (!bias.empty()) {
    const Shape scores = {batch, a.heads, steps, steps};
    if (OCTET_TRY(broadcast_shapes(std::vector<Shape>{scores, bias.shape()})) != scores)
      return error("an attention bias of shape {} does not fit scores {}", to_string(bias.shape()),
                   to_string(scores));
    from = broadcast_index(bias.shape(), scores);
  }
  std::vector<double> y(static_cast<size_t>(batch * steps * a.value));
  std::vector<double> line(static_cast<size_t>(steps));
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < a.heads; ++h)
      for (int64_t q = 0; q < steps; ++q) {
        const double* query = projected.data() + (b * steps + q) * row + h * size;
        for (int64_t k = 0; k < steps; ++k) {
          const double* key = projected.data() + (b * steps + k) * row + a.query + h * size;
          double sum = 0;
          for (int64_t i = 0; i < size; ++i)
            sum += query[i] * key[i];
          sum = stepped(sum, a.score_step) * scale +
                terms[static_cast<size_t>((b * steps + q) * steps + k)];
          if (!from.empty())
            sum += bias.at(from[static_cast<size_t>(((b * a.heads + h) * steps + q) * steps + k)]);
          if (a.causal && k > q) sum = std::numeric_limits<float>::lowest();
          line[static_cast<size_t>(k)] = sum;
        }
        softmax_line(line);
        double* out = y.data() + (b * steps + q) * a.value + h * v_size;
        for (int64_t k = 0; k < steps; ++k) {
          const double* value = projected.data() + (b * steps + k) * row + 2 * a.query + h * v_size;
          const double p = stepped(line[static_cast<size_t>(k)], a.softmax_step);
          for (int64_t i = 0; i < v_size; ++i)
            out[i] += p * value[i];
        }
      }
  return y;
}

} // namespace octet::ms
