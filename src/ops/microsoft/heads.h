// SPDX-License-Identifier: Apache-2.0
// Attention of queries, keys and values that were projected before, as MultiHeadAttention and
// GroupQueryAttention (com.microsoft) have it: [B, H, S, D] in double.
#pragma once

#include <functional>

#include "ops/shared/validate.h"

namespace octet::ms {

/// values: [batch, heads, steps, size].
struct Heads {
  int64_t batch = 0, heads = 0, steps = 0, size = 0;
  std::vector<double> values;

  int64_t count() const { return batch * heads * steps * size; }
  double* at(int64_t b, int64_t h, int64_t s) {
    return values.data() + ((b * heads + h) * steps + s) * size;
  }
  const double* at(int64_t b, int64_t h, int64_t s) const {
    return values.data() + ((b * heads + h) * steps + s) * size;
  }
  Result<Tensor> tensor(DType type) const {
    return rounded(type, {batch, heads, steps, size}, values);
  }
};

/// Columns `begin` to `begin + heads * size` of x: [B, S, C], which has them.
Result<Heads> heads_of_columns(const Tensor& x, int64_t begin, int64_t heads, int64_t size);
/// x: [B, H, S, D].
Result<Heads> heads_of(const Tensor& x);
/// The steps of `past` before those of x. Errors: other sizes.
Result<Heads> behind(const Heads& past, const Heads& x);

struct HeadAttention {
  double scale = 0;   ///< 0: 1 / sqrt(size of a head)
  double softcap = 0; ///< c: scores become c tanh(score / c); 0: they stay
  /// By query head: what else the softmax counts as a score, without a value. Empty: nothing.
  std::vector<double> sinks;
};
/// What is added to the score of query i and key j of head h in row b; -infinity: j does not count.
using ScoreTerm = std::function<double(int64_t b, int64_t h, int64_t i, int64_t j)>;

/// [B, S, H * size of v]. Query heads share key heads in equal groups. A query for which no key
/// counts gives zeros.
std::vector<double> attend_heads(
    const HeadAttention& a, const Heads& q, const Heads& k, const Heads& v, const ScoreTerm& term);

} // namespace octet::ms
