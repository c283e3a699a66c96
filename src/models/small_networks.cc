// SPDX-License-Identifier: Apache-2.0
#include "models/small_networks.h"

#include <algorithm>

#include "core/format.h"
#include "models/layer_builder.h"

#include "octet/bert.h"

namespace octet {
namespace {

constexpr int64_t kImageSide = 28;
constexpr int64_t kImagePixels = kImageSide * kImageSide;
constexpr int64_t kImageClasses = 10;

/// Means over the image and the classes.
Result<Graph> with_classifier(LayerBuilder& layers, ValueId x, int64_t channels) {
  x = layers.plain("GlobalAveragePool", {x}, "pool");
  x = layers.plain("Flatten", {x}, "flatten");
  x = OCTET_TRY(layers.linear("classifier", x, channels, kImageClasses));
  return layers.finish(x, "logits", kImageClasses);
}

/// Linear layers of these widths, each with the activation behind it.
Result<Graph> perceptron(LayerBuilder& layers,
                         std::span<const int64_t> widths,
                         const char* activation,
                         bool layer_norm = false) {
  ValueId x = layers.plain("Flatten", {layers.input("x", {1, kImageSide, kImageSide})}, "flatten");
  int64_t in = kImagePixels;
  for (size_t i = 0; i < widths.size(); ++i) {
    const std::string name = fmt::format("fc{}", i + 1);
    x = OCTET_TRY(layers.linear(name, x, in, widths[i]));
    if (layer_norm) x = OCTET_TRY(layers.layer_norm(name + "/norm", x, widths[i]));
    x = layers.plain(activation, {x}, name + "/active");
    in = widths[i];
  }
  x = OCTET_TRY(layers.linear("classifier", x, in, kImageClasses));
  return layers.finish(x, "logits", kImageClasses);
}

/// Convolutions of stride 2, twice as wide each.
Result<Graph>
convolutional(LayerBuilder& layers, int64_t kernel, bool batch_norm, const char* activation) {
  ValueId x = layers.input("x", {1, kImageSide, kImageSide});
  int64_t in = 1, out = 16;
  for (int i = 1; i <= 3; ++i) {
    x = OCTET_TRY(layers.conv_block(fmt::format("conv{}", i), x,
                                    {.convolution = {.in = in,
                                                     .out = out,
                                                     .kernel = kernel,
                                                     .stride = 2,
                                                     .pad = kernel / 2,
                                                     .bias = !batch_norm},
                                     .batch_norm = batch_norm,
                                     .activation = activation}));
    in = std::exchange(out, 2 * out);
  }
  return with_classifier(layers, x, in);
}

/// Depthwise-separable blocks (Howard et al., arXiv 1704.04861).
Result<Graph> depthwise(LayerBuilder& layers, bool batch_norm) {
  ValueId x = layers.input("x", {1, kImageSide, kImageSide});
  x = OCTET_TRY(layers.conv_block(
      "stem", x,
      {.convolution = {.in = 1, .out = 16, .stride = 2, .pad = 1, .bias = !batch_norm},
       .batch_norm = batch_norm}));
  int64_t in = 16;
  for (const auto& [out, stride] : {std::pair<int64_t, int64_t>{32, 1}, {64, 2}, {64, 1}}) {
    x = OCTET_TRY(
        layers.separable_block(fmt::format("block{}_{}", in, stride), x,
                               {.in = in, .out = out, .stride = stride, .batch_norm = batch_norm}));
    in = out;
  }
  return with_classifier(layers, x, in);
}

/// Two blocks with shortcuts (He et al., arXiv 1512.03385), whose first windows have groups.
Result<Graph> residual(LayerBuilder& layers, bool batch_norm, int64_t groups) {
  constexpr int64_t kWidth = 32;
  ValueId x = layers.input("x", {1, kImageSide, kImageSide});
  x = OCTET_TRY(layers.conv_block(
      "stem", x,
      {.convolution = {.in = 1, .out = kWidth, .stride = 2, .pad = 1, .bias = !batch_norm},
       .batch_norm = batch_norm}));
  for (int i = 1; i <= 2; ++i) {
    const std::string name = fmt::format("block{}", i);
    ValueId inner = OCTET_TRY(layers.conv_block(
        name + "/conv1", x,
        {.convolution =
             {.in = kWidth, .out = kWidth, .pad = 1, .groups = groups, .bias = !batch_norm},
         .batch_norm = batch_norm}));
    inner = OCTET_TRY(layers.conv_block(
        name + "/conv2", inner,
        {.convolution = {.in = kWidth, .out = kWidth, .pad = 1, .bias = !batch_norm},
         .batch_norm = batch_norm,
         .activation = nullptr}));
    x = layers.plain("Relu", {layers.plain("Add", {inner, x}, name + "/add")}, name + "/active");
  }
  return with_classifier(layers, x, kWidth);
}

Result<Graph> small_bert(const SmallNetwork& row, uint64_t seed) {
  BertOptions options{.vocabulary = 32,
                      .positions = 16,
                      .type_vocabulary = 0,
                      .hidden = 64,
                      .layers = 2,
                      .heads = 4,
                      .intermediate = 128,
                      .activation = row.name.ends_with("-relu") ? BertActivation::kRelu
                                                                : BertActivation::kGelu,
                      .dropout = 0,
                      .attention_dropout = 0,
                      .initializer_range = 0.1,
                      .head = BertHead::kClassification,
                      .token_type_input = false,
                      .seed = seed};
  if (row.task == "count") options.labels = {"0", "1", "2", "3"};
  return make_bert(options);
}

constexpr int64_t kNarrowWidths[] = {64};
constexpr int64_t kDeepWidths[] = {96, 96, 96};
constexpr int64_t kWideWidths[] = {256, 64};

using MakeLayers = Result<Graph> (*)(LayerBuilder&);

struct SmallRow {
  SmallNetwork network;
  MakeLayers make; ///< null: a BERT
};

constexpr SmallRow kSmallRows[] = {
    {{"mlp", "mlp", ""}, [](LayerBuilder& b) { return perceptron(b, kNarrowWidths, "Relu"); }},
    {{"mlp-deep", "mlp", ""}, [](LayerBuilder& b) { return perceptron(b, kDeepWidths, "Relu"); }},
    {{"mlp-tanh", "mlp", ""}, [](LayerBuilder& b) { return perceptron(b, kWideWidths, "Tanh"); }},
    {{"mlp-norm", "mlp", ""},
     [](LayerBuilder& b) { return perceptron(b, kWideWidths, "Relu", true); }},
    {{"cnn", "cnn", ""}, [](LayerBuilder& b) { return convolutional(b, 3, false, "Relu"); }},
    {{"cnn-norm", "cnn", "", true},
     [](LayerBuilder& b) { return convolutional(b, 3, true, "Relu"); }},
    {{"cnn-5x5", "cnn", ""}, [](LayerBuilder& b) { return convolutional(b, 5, false, "Relu"); }},
    {{"cnn-leaky", "cnn", "", true},
     [](LayerBuilder& b) { return convolutional(b, 3, true, "LeakyRelu"); }},
    {{"depthwise", "cnn", ""}, [](LayerBuilder& b) { return depthwise(b, false); }},
    {{"depthwise-norm", "cnn", "", true}, [](LayerBuilder& b) { return depthwise(b, true); }},
    {{"residual", "cnn", ""}, [](LayerBuilder& b) { return residual(b, false, 1); }},
    {{"residual-norm", "cnn", "", true}, [](LayerBuilder& b) { return residual(b, true, 1); }},
    {{"grouped-norm", "cnn", "", true}, [](LayerBuilder& b) { return residual(b, true, 4); }},
    {{"bert-contains", "bert", "contains"}, nullptr},
    {{"bert-majority", "bert", "majority"}, nullptr},
    {{"bert-order", "bert", "order"}, nullptr},
    {{"bert-adjacent", "bert", "adjacent"}, nullptr},
    {{"bert-ends", "bert", "ends"}, nullptr},
    {{"bert-count", "bert", "count"}, nullptr},
    {{"bert-majority-relu", "bert", "majority"}, nullptr},
};

} // namespace

std::span<const SmallNetwork> small_networks() {
  static const std::vector<SmallNetwork> all = [] {
    std::vector<SmallNetwork> out;
    for (const SmallRow& row : kSmallRows)
      out.push_back(row.network);
    return out;
  }();
  return all;
}

Result<Graph> make_small_network(std::string_view name, uint64_t seed) {
  const auto* row = std::find_if(std::begin(kSmallRows), std::end(kSmallRows),
                                 [&](const SmallRow& r) { return r.network.name == name; });
  if (row == std::end(kSmallRows)) return error("no small network \"{}\"", name);
  if (row->make == nullptr) return small_bert(row->network, seed);
  LayerBuilder layers(std::string(name), seed);
  return row->make(layers);
}

} // namespace octet
