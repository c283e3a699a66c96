// SPDX-License-Identifier: Apache-2.0
// What the attentions of com.microsoft are written as, but for their products and codes: heads
// apart and together, the term of the mask, the softmax.
#pragma once

#include <string>
#include <vector>

#include "passes/standardize/standard_operators.h"

namespace octet {

struct HeadSizes {
  int64_t count = 0, query = 0, value = 0; ///< heads, columns of q (and k), columns of v
};
/// Of `columns` weights in all. Nullopt where they do not split into heads.
std::optional<HeadSizes> head_sizes(const Node& node, int64_t columns);

/// A number of steps: the size of an axis of a value.
struct SizedBy {
  ValueId value;
  int64_t axis = 1;
};

class AttentionParts {
 public:
  /// `type`: of the scores.
  AttentionParts(const Graph& graph, const Node& node, Patch& patch, DType type)
      : g_(graph), node_(node), patch_(patch), type_(type) {}

  std::string name(const char* part) const { return node_.name + "/" + part; }
  /// [B, S, count * size] to [B, S, count, size], transposed by `order`.
  ValueId
  split(ValueId x, const char* part, int64_t count, int64_t size, std::vector<int64_t> order) const;
  /// [B, count, S, size] to [B, S, columns].
  ValueId join(ValueId x, int64_t columns, const std::string& as) const;
  ValueId softmax(ValueId scores) const;
  /// 0 where a key counts and the filter elsewhere, to be broadcast to [B, heads, S, keys]; invalid
  /// for a mask that this does not read. Without `keys` there are as many as steps of input 0.
  ValueId mask_term(ValueId mask, SizedBy keys = {}) const;
  /// [S, keys]: 0 where query i sees key j, j <= past + i, and the lowest number elsewhere.
  ValueId causal_term(SizedBy queries, SizedBy keys, SizedBy past = {}) const;

 private:
  ValueId positive(ValueId mask, int64_t rank) const;
  ValueId within_length(ValueId mask, SizedBy keys) const;

  const Graph& g_;
  const Node& node_;
  Patch& patch_;
  DType type_;
};

} // namespace octet
