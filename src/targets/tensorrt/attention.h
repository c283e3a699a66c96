// SPDX-License-Identifier: Apache-2.0
// Scaled dot product attention as products around a softmax, and what TensorRT's fused kernel asks
// of it. Source: docs/targets.md 2.4.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "octet/graph.h"

namespace octet {

/// softmax(Q K^T * scale + mask) V; Q and DQ, casts and guards against NaN may lie between.
struct Attention {
  NodeId scores, softmax, context; ///< MatMul, Softmax, MatMul
  std::vector<NodeId> between;     ///< scale, mask and casts from scores to context
  std::optional<int64_t> head_size, query_length, key_length; ///< where the shapes say so
  bool scale_after_scores = false;
  bool query_codes = false, key_codes = false, value_codes = false; ///< come through DQ
  bool probability_codes = false;   ///< Q and DQ between softmax and context
  bool output_codes = false;        ///< the context goes through Q, possibly after moves
  std::vector<ValueId> score_codes; ///< what DQ makes between scores and softmax
  std::vector<DType> code_types;    ///< of all of these, each once
};

/// The longest sequence that TensorRT's int8 kernel takes.
constexpr int64_t kInt8AttentionLength = 512;
/// The head sizes that it takes; one that is not known may be such.
inline bool int8_takes_head(std::optional<int64_t> size) {
  return !size || *size == 16 || *size == 32 || *size == 64;
}

/// Every attention of the graph, in the order of their softmaxes. Types must have been inferred.
std::vector<Attention> find_attention(const Graph& graph, const Uses& uses);
/// That around one softmax.
std::optional<Attention>
find_attention_at(const Graph& graph, const Uses& uses, const Node& softmax);

/// How TensorRT will run it.
struct FusedAttention {
  bool fused = false;
  bool quantized = false; ///< fused, or wanted, in 8 bits: Q/DQ is at one of the places at least
  DType codes = DType::kUndefined; ///< the type of its codes, where it is fused in 8 bits
  std::string condition;           ///< the first one that failed; empty when fused
  std::string mend;                ///< what would meet it
};
FusedAttention tensorrt_attention(const Attention& attention);

} // namespace octet
