// SPDX-License-Identifier: Apache-2.0
// Puts layers with fresh weights behind each other: what the builders of networks have in common.
#pragma once

#include <string>

#include "octet/graph.h"
#include "octet/models.h"

namespace octet {

class LayerBuilder {
 public:
  /// Opset 17. `seed`: of the weights, of which each has a stream of its own, in the order in which
  /// they are asked for, so that a seed gives one graph on every machine.
  LayerBuilder(std::string name, uint64_t seed);

  struct Convolution {
    int64_t in, out;
    int64_t kernel = 3, stride = 1, pad = 0, groups = 1;
    bool bias = true;
  };

  /// One convolution with what stands behind it.
  struct ConvBlock {
    Convolution convolution;
    bool batch_norm = false;
    const char* activation = "Relu"; ///< null: none
  };
  /// A window of 3 for each channel by itself, then a product over the channels, each with what
  /// stands behind a block (Howard et al., arXiv 1704.04861).
  struct SeparableBlock {
    int64_t in, out;
    int64_t stride = 1;
    bool batch_norm = false; ///< in place of biases
  };

  /// An f32 input of the shape [N, sizes...].
  ValueId input(const std::string& name, const Shape& sizes);
  /// Conv of square windows. Weights and biases are uniform in +-1/sqrt(fan in).
  Result<ValueId> convolution(const std::string& name, ValueId x, const Convolution& options);
  /// `name`, `name`/norm and `name`/active.
  Result<ValueId> conv_block(const std::string& name, ValueId x, const ConvBlock& options);
  /// `name`/depthwise and `name`/pointwise.
  Result<ValueId>
  separable_block(const std::string& name, ValueId x, const SeparableBlock& options);
  /// BatchNormalization that changes nothing yet.
  Result<ValueId> batch_norm(const std::string& name, ValueId x, int64_t channels);
  /// LayerNormalization over the last axis that scales nothing yet.
  Result<ValueId> layer_norm(const std::string& name, ValueId x, int64_t width);
  /// Gemm: x [N, in] to [N, out].
  Result<ValueId> linear(const std::string& name, ValueId x, int64_t in, int64_t out);
  /// Without attributes: Relu, Tanh, GlobalAveragePool, Add, ...
  ValueId plain(const char* op, std::vector<ValueId> inputs, const std::string& name);
  ValueId dropout(const std::string& name, ValueId x, double ratio); ///< ratio 0: x itself
  ValueId constant(const std::string& name, Tensor value);
  ValueId emit(const char* op, ValueId x, Attributes attributes, const std::string& name);
  /// Names `x` f32[N, classes] the only output and hands the graph over.
  Graph finish(ValueId x, const std::string& name, int64_t classes);

 private:
  Result<ValueId> uniform(const std::string& name, Shape shape, int64_t fan_in);
  Result<ValueId> filled(const std::string& name, int64_t count, float value);

  Graph graph_;
  uint64_t seed_;
  uint64_t stream_ = 0;
};

/// make_cnn of options that describe layers.
Result<Graph> make_described_cnn(const CnnOptions& options);

/// An attribute of integers.
Attributes ints_attribute(const char* key, std::vector<int64_t> values);

} // namespace octet
