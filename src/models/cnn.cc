// SPDX-License-Identifier: Apache-2.0
// The small convolutional classifier as a graph.
#include <vector>

#include "core/format.h"
#include "models/layer_builder.h"
#include <fmt/format.h>

#include "octet/models.h"

namespace octet {
namespace {

/// Convolution, batch normalization if wanted, relu.
Result<ValueId> conv_relu(LayerBuilder& layers,
                          const std::string& number,
                          ValueId x,
                          int64_t in,
                          int64_t out,
                          bool batch_norm) {
  x = OCTET_TRY(layers.convolution("conv" + number, x, {.in = in, .out = out, .stride = 2}));
  if (batch_norm) x = OCTET_TRY(layers.batch_norm("bn" + number, x, out));
  return layers.plain("Relu", {x}, "relu" + number);
}

/// The output, from its logits.
Graph with_classes(LayerBuilder& layers, ValueId x, const CnnOptions& options) {
  if (!options.softmax) return layers.finish(x, "logits", options.classes);
  Attributes axis;
  axis["axis"].value = int64_t{-1};
  return layers.finish(layers.emit("Softmax", x, std::move(axis), "softmax"), "probabilities",
                       options.classes);
}

Result<Graph> build_cnn(const CnnOptions& options, int64_t features) {
  LayerBuilder layers("cnn", options.seed);
  const int64_t size = options.image_size;
  ValueId x = layers.input("x", {options.image_channels, size, size});
  x = OCTET_TRY(
      conv_relu(layers, "1", x, options.image_channels, options.channels1, options.batch_norm));
  x = OCTET_TRY(
      conv_relu(layers, "2", x, options.channels1, options.channels2, options.batch_norm));
  Attributes window = ints_attribute("kernel_shape", {3, 3});
  window.merge(ints_attribute("strides", {2, 2}));
  x = layers.emit("AveragePool", x, std::move(window), "pool");
  x = layers.plain("Flatten", {x}, "flatten");
  x = layers.dropout("dropout1", x, options.dropout);
  x = OCTET_TRY(layers.linear("fc1", x, features, options.hidden));
  if (options.hidden_relu) x = layers.plain("Relu", {x}, "relu3");
  x = layers.dropout("dropout2", x, options.dropout);
  x = OCTET_TRY(layers.linear("fc2", x, options.hidden, options.classes));
  return with_classes(layers, x, options);
}

/// A convolution with blocks behind it that halve the image where they widen it, as MobileNet's do.
Result<Graph> build_separable(const CnnOptions& options) {
  LayerBuilder layers("cnn", options.seed);
  const int64_t size = options.image_size;
  ValueId x = layers.input("x", {options.image_channels, size, size});
  x = OCTET_TRY(layers.conv_block("stem", x,
                                  {.convolution = {.in = options.image_channels,
                                                   .out = options.channels1,
                                                   .stride = 2,
                                                   .pad = 1,
                                                   .bias = !options.batch_norm},
                                   .batch_norm = options.batch_norm}));
  int64_t in = options.channels1;
  for (size_t i = 0; i < options.depthwise.size(); ++i) {
    const int64_t out = options.depthwise[i];
    x = OCTET_TRY(layers.separable_block(fmt::format("block{}", i + 1), x,
                                         {.in = in,
                                          .out = out,
                                          .stride = i > 0 && out > in ? 2 : 1,
                                          .batch_norm = options.batch_norm}));
    in = out;
  }
  x = layers.plain("GlobalAveragePool", {x}, "pool");
  x = layers.plain("Flatten", {x}, "flatten");
  x = layers.dropout("dropout", x, options.dropout);
  return with_classes(layers, OCTET_TRY(layers.linear("classifier", x, in, options.classes)),
                      options);
}

/// Output size of a window of 3 with stride 2, or 0 when the window does not fit.
int64_t halved(int64_t size) {
  return size < 3 ? 0 : (size - 3) / 2 + 1;
}

} // namespace

Result<Graph> make_cnn(const CnnOptions& options) {
  if (!options.layers.empty()) return make_described_cnn(options);
  std::vector<std::pair<const char*, int64_t>> widths = {{"image channels", options.image_channels},
                                                         {"channels1", options.channels1},
                                                         {"channels2", options.channels2},
                                                         {"hidden", options.hidden},
                                                         {"classes", options.classes}};
  for (const int64_t width : options.depthwise)
    widths.emplace_back("depthwise", width);
  for (const auto& [what, value] : widths)
    if (value < 1 || value > 65536)
      return error("cnn: {} is {}; it lies in 1 .. 65536", what, value);
  if (!(options.dropout >= 0 && options.dropout < 1))
    return error("cnn: dropout is {}; it lies in [0, 1)", options.dropout);
  const int64_t side = halved(halved(halved(options.image_size)));
  if (side < 1 || options.image_size > 4096)
    return error("cnn: images of {0} x {0} pixels; from 15 x 15 to 4096 x 4096 fit",
                 options.image_size);
  if (!options.depthwise.empty()) return build_separable(options);
  return build_cnn(options, options.channels2 * side * side);
}

} // namespace octet
