// SPDX-License-Identifier: Apache-2.0
// Builders of known networks. A built network is a graph like any other.
#pragma once

#include <vector>

#include "octet/graph.h"

namespace octet {

/// The small convolutional classifier: conv 3x3 stride 2, relu, conv 3x3 stride 2, relu, average
/// pool 3x3 stride 2, flatten, dropout, linear, dropout, linear, softmax.
struct CnnOptions {
  int64_t image_channels = 1;
  int64_t image_size = 28; ///< height and width
  int64_t channels1 = 8;   ///< of the first convolution
  int64_t channels2 = 64;  ///< of the second
  int64_t hidden = 128;    ///< width of the first linear layer
  int64_t classes = 10;
  double dropout = 0.05;    ///< probability of dropping, 0 leaves the dropout nodes out
  bool hidden_relu = false; ///< a relu between the linear layers
  bool batch_norm = false;  ///< one after each convolution
  /// Widths of depthwise-separable blocks, each a window of 3 x 3 for every channel by itself and a
  /// product over the channels, with relu behind both (Howard et al., arXiv 1704.04861). Not empty:
  /// they and the mean over the image stand in place of what is behind the first convolution, up to
  /// the last linear layer. The first convolution has stride 2, and so have blocks that widen, but
  /// for the first; windows are padded.
  std::vector<int64_t> depthwise;
  bool softmax = true; ///< false: the output is the logits
  uint64_t seed = 0;   ///< of the initial weights
};

/// Input `x: f32[N, C, S, S]`, output `probabilities` or `logits: f32[N, classes]`, opset 17.
/// Weights and biases are uniform in +-1/sqrt(fan in) from Philox, so a seed gives one graph on
/// every machine. Errors: a width below 1, an image too small for the three strides.
Result<Graph> make_cnn(const CnnOptions& options = {});

} // namespace octet
