// SPDX-License-Identifier: Apache-2.0
// Whether a quantized model gives the same numbers in other runtimes on every CPU. Without VNNI,
// ONNX Runtime, OpenVINO and oneDNN multiply uint8 activations and int8 weights with vpmaddubsw,
// which adds two neighbouring products into an int16 and saturates there; with VNNI they do not.
// Source: docs/numerics.md, "Integer layers", and docs/targets.md 8 (measured).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "octet/executor.h"
#include "octet/graph.h"

namespace octet {

/// One product of activations and stored int8 weights.
struct CertifiedLayer {
  std::string node, op;
  int64_t channels = 0, terms = 0; ///< sums a position, products a sum
  /// Codes that the activation can take once it is uint8: a Relu or Softmax before Q bounds them.
  int32_t lowest = 0, highest = 255;
  int64_t pairs = 0;            ///< neighbouring weights of one sum
  int64_t saturating_pairs = 0; ///< that some activations saturate
  int64_t largest_pair = 0;     ///< largest magnitude of two products added; int16 holds 32767
  int64_t largest_sum = 0;      ///< largest magnitude of a sum, for any activations, without bias
  bool fits_int32 = true;       ///< octet's own sum: exact as long as this holds
  std::string in_float;         ///< what else the layer multiplies, in float; empty: nothing
  // What happened on data.
  int64_t sums = 0, wrong_sums = 0;
  int64_t largest_error = 0; ///< of a sum, in products of codes

  bool can_saturate() const { return saturating_pairs > 0; }
};

/// A node that may multiply codes and that nothing can be said about.
struct Unexamined {
  std::string node, op, why;
};

/// Looks at products with stored int8 weights: Conv, Gemm and MatMul between Q/DQ (a Clip between
/// them narrows the codes), operators on codes of ONNX and ONNX Runtime, and those that quantize
/// their activation at every run; of LSTM, GRU and RNN the product of x and W. Local functions are inlined. Neighbours are neighbours along the
/// sum, of a convolution with channels innermost, as ONNX Runtime packs them.
class Certification {
 public:
  /// Errors: a graph whose types do not fit together.
  static Result<Certification> create(const Graph& graph);
  Certification(Certification&&) noexcept;
  Certification& operator=(Certification&&) noexcept;
  ~Certification();

  const std::vector<CertifiedLayer>& layers() const;
  const std::vector<Unexamined>& unexamined() const;
  /// No layer can saturate, and every one was examined.
  bool safe() const;
  /// Adds the damage on a batch: up to 64 positions of each layer, each sum once exactly and once
  /// as vpmaddubsw adds it up. `make` runs the graph, the reference where it is empty.
  Status simulate(std::span<const Tensor> inputs, const ExecutorFactory& make = {});
  /// The model with coarser weights in the output channels that can saturate, each by the least
  /// factor that prevents it; a layer with one scale gets one factor. Everything else is untouched.
  /// Errors: a layer whose form has the weights' scale elsewhere (MatMulInteger, ConvInteger), or
  /// whose weights have a zero point.
  Result<Graph> reduced() const;

 private:
  struct Impl;
  explicit Certification(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace octet
