// SPDX-License-Identifier: Apache-2.0
// Builders of known networks, and what makes a network ready to be trained on other data. A built
// network is a graph like any other.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "octet/graph.h"
#include "octet/graph_text.h"

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
  /// Not empty: the layers in place of all of the above but the images, apart by commas: `conv 32 3,
  /// bn, relu, pool 2, dropout 0.1, linear 10` (docs/training.md lists them). The last one has as
  /// many outputs as there are classes.
  std::string layers;
  bool softmax = true; ///< false: the output is the logits
  uint64_t seed = 0;   ///< of the initial weights
};

/// Input `x: f32[N, C, S, S]`, output `probabilities` or `logits: f32[N, classes]`, opset 17.
/// Weights and biases are uniform in +-1/sqrt(fan in) from Philox, so a seed gives one graph on
/// every machine. Errors: a width below 1, an image too small for the three strides, a layer that is
/// not known or does not fit.
Result<Graph> make_cnn(const CnnOptions& options = {});

/// What became of a network's last layer.
struct ReplacedHead {
  std::string node; ///< the product
  int64_t old_classes = 0;
  std::vector<std::string> fresh; ///< names of the constants in whose place new ones stand
};

/// Gives the last product before the first output (Gemm, MatMul or Conv with a constant weight,
/// what is added or multiplied class by class included) fresh weights for `classes` classes, uniform
/// in +-1/sqrt(fan in), a function of seed and name; biases are 0. Outputs keep their names and get
/// the new type. The graph is unchanged on an error. Errors: an output that several values make, or
/// none of these products; constants of the old classes behind it.
Result<ReplacedHead> replace_head(Graph& graph, int64_t classes, uint64_t seed);

/// Makes a graph that fixes its batch take any, and returns the size that it had (0: it was free).
/// What is computed from a batch's rows together is not looked for. The graph is unchanged on an
/// error. Errors: an output that does not follow the batch.
Result<int64_t> free_batch(Graph& graph);

/// Draws the constants that a text leaves open (`= init`), each a function of seed and name. By
/// role: weights of products he, embeddings normal, biases and means zeros, gains and variances
/// ones. Errors name the constant: an unknown rule, one that wants a product's weight, a use that
/// does not say what it is.
Status draw_constants(Graph& graph, std::span<const DrawnConstant> drawn, uint64_t seed);

} // namespace octet
