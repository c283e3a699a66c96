// SPDX-License-Identifier: Apache-2.0
// The layers of encoders that ONNX Runtime's CUDA provider runs in int8: those that the optimizer
// of onnxruntime.transformers makes QOrdered operators of, with what their kernels ask for beside.
// One matcher for the float graph, in which Q and DQ are to come, and for the graph that has them.
// Source: onnxruntime 1.31, transformers/fusion_qordered_*.py; contrib_ops/cuda/quantization/
// qordered_ops; NVIDIA, cuBLAS, "Regular IMMA kernels" of cublasLtMatmul (multiples of 4).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "octet/graph.h"

namespace octet {

struct Placement;

/// What lies between two layers of a graph.
enum class Between : uint8_t {
  kNothing, ///< the float graph
  kCodes,   ///< Q and DQ: int8 with one constant scale and zero point 0
};

/// A value that a layer reads.
struct OrderedInput {
  ValueId real; ///< float: what is read. Codes: what their Q reads, where a Q makes them
  const Node* dequantize = nullptr; ///< Between::kCodes
};
/// A value that a layer makes.
struct OrderedOutput {
  ValueId real;
  const Node* quantize = nullptr; ///< Between::kCodes
};

/// x [.., M, K] W + bias [+ residual]: QOrderedMatMul.
struct OrderedProduct {
  const Node* product = nullptr;
  const Node* biased = nullptr;
  const Node* sum = nullptr; ///< with a residual
  OrderedInput x, weight, residual;
  ValueId bias;
  OrderedOutput y;

  std::vector<const Node*> nodes() const;
};

/// QOrderedGelu.
struct OrderedGelu {
  std::vector<const Node*> nodes; ///< one operator, or a chain
  OrderedInput x;
  OrderedOutput y;
};

/// QOrderedLayerNormalization.
struct OrderedNorm {
  const Node* norm = nullptr;
  OrderedInput x;
  OrderedOutput y;
};

/// A value inside of the attention.
struct OrderedStep {
  const Node* maker = nullptr;
  const Node* quantize = nullptr;   ///< Between::kCodes, and
  const Node* dequantize = nullptr; ///< where there are codes
};

/// QOrderedAttention, and the product behind it, which adds what the attention read.
struct OrderedAttention {
  struct Part {
    const Node* product = nullptr;
    OrderedInput weight;
    ValueId bias;
    OrderedStep biased;
    const Node *split = nullptr, *turned = nullptr;
  };
  std::array<Part, 3> parts; ///< q, k, v
  OrderedInput x;
  OrderedStep scores, shares, context; ///< of q k^T, softmax, and what it mixes
  const Node *divided = nullptr, *masked = nullptr;
  const Node *turned = nullptr, *joined = nullptr;
  ValueId mask; ///< [batch, keys]: 0 where a key does not count
  int64_t heads = 0, size = 0;
  OrderedProduct projection; ///< without its x
  const Node* norm = nullptr;

  /// Those that QOrderedAttention takes the place of.
  std::vector<const Node*> nodes() const;
};

/// A layer, or why there is none.
template <class T>
struct Matched {
  std::optional<T> layer;
  std::string why;

  explicit operator bool() const { return layer.has_value(); }
  const T* operator->() const { return &*layer; }
  const T& operator*() const { return *layer; }
};

/// Looks at one node at a time. The graph has its types; it and `uses` outlive this.
class OrderedLayers {
 public:
  OrderedLayers(const Graph& graph, const Uses& uses, Between between)
      : graph_(graph), uses_(uses), between_(between) {}

  Matched<OrderedProduct> product(const Node& matmul) const;
  /// `node`: Erf of a chain, or Gelu.
  Matched<OrderedGelu> gelu(const Node& node) const;
  Matched<OrderedNorm> norm(const Node& node) const;
  Matched<OrderedAttention> attention(const Node& softmax) const;

  /// Between::kCodes: why a node that computes on what comes through DQ is none of these layers;
  /// empty: it is one, or no such node.
  std::string why_not(const Node& node) const;

 private:
  friend class OrderedAttentionWalk;

  OrderedInput read(ValueId value, std::string& why) const;
  OrderedOutput written(ValueId value, std::string& why) const;
  OrderedInput weight(const Node& product, std::string& why) const;
  ValueId bias(const Node& biased, ValueId product, const OrderedInput& weight) const;
  /// All but x.
  Matched<OrderedProduct> without_x(const Node& matmul) const;
  const Node* sole_reader(ValueId value, std::string_view op) const;
  bool is_float(ValueId value) const;

  const Graph& graph_;
  const Uses& uses_;
  Between between_;
};

/// Writes a float graph so that those layers are found in it: the bias of a sum first, the scale of
/// an attention as a Div of its scores, its mask as (1 - mask) * number. Rounding.
Status arrange_for_ordered(Graph& graph);

} // namespace octet
