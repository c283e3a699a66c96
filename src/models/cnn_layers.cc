// SPDX-License-Identifier: Apache-2.0
// A convolutional classifier from its description: layers apart by commas, a word and numbers each.
#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "core/format.h"
#include "core/string_util.h"
#include "models/layer_builder.h"

#include "octet/models.h"

namespace octet {
namespace {

constexpr int64_t kMostLayers = 1000, kWidestLayer = 65536;

/// `conv 32 3 stride 2`: a word, numbers, and numbers behind names.
struct LayerWords {
  std::string_view text, kind;
  std::vector<double> numbers;
  std::optional<int64_t> stride, pad, groups;
};

Error in_layer(const LayerWords& layer, std::string_view why) {
  return error("layer \"{}\": {}", layer.text, why);
}

Result<LayerWords> read_layer(std::string_view text) {
  LayerWords out;
  out.text = text;
  std::optional<int64_t>* named = nullptr;
  for (const std::string_view word : split(text, ' ')) {
    if (word.empty()) continue;
    if (out.kind.empty()) {
      out.kind = word;
      continue;
    }
    if (const std::optional<double> number = decimal_number(word)) {
      if (named == nullptr) {
        out.numbers.push_back(*number);
        continue;
      }
      *named = static_cast<int64_t>(*number);
      named = nullptr;
      continue;
    }
    if (named != nullptr)
      return in_layer(out, "a number is missing before \"" + std::string(word) + "\"");
    if (word == "stride")
      named = &out.stride;
    else if (word == "pad")
      named = &out.pad;
    else if (word == "groups")
      named = &out.groups;
    else
      return in_layer(out,
                      fmt::format("\"{}\" is no number, and none of stride, pad and groups", word));
  }
  if (out.kind.empty()) return Error("a layer is missing between two commas");
  if (named != nullptr) return in_layer(out, "its last number is missing");
  return out;
}

const std::vector<std::string>& layer_kinds() {
  static const std::vector<std::string> kinds = {"conv",    "depthwise", "bn",    "relu",    "tanh",
                                                 "sigmoid", "hardswish", "pool",  "avgpool", "mean",
                                                 "flatten", "dropout",   "linear"};
  return kinds;
}

class DescribedCnn {
 public:
  explicit DescribedCnn(const CnnOptions& options)
      : options_(options), layers_("cnn", options.seed), channels_(options.image_channels),
        side_(options.image_size) {
    x_ = layers_.input("x", {channels_, side_, side_});
  }

  Result<Graph> build() {
    const std::vector<std::string_view> parts = split(options_.layers, ',');
    if (std::ssize(parts) > kMostLayers) return error("more than {} layers", kMostLayers);
    for (const std::string_view part : parts) {
      const LayerWords layer = OCTET_TRY(read_layer(trim(part)));
      OCTET_TRY(add(layer));
    }
    if (!flat_ || channels_ != options_.classes || !ends_linear_)
      return error("the layers end with {}, and the data has {} classes; end them with linear {}",
                   flat_ ? counted(channels_, "number")
                         : fmt::format("an image {} x {} x {}", channels_, side_, side_),
                   options_.classes, options_.classes);
    if (!options_.softmax) return layers_.finish(x_, "logits", options_.classes);
    Attributes axis;
    axis["axis"].value = int64_t{-1};
    return layers_.finish(layers_.emit("Softmax", x_, std::move(axis), "softmax"), "probabilities",
                          options_.classes);
  }

 private:
  /// `conv1`, `conv2`, ...: the number of this layer.
  std::string named(std::string_view kind) { return fmt::format("{}{}", kind, ++number_); }

  static Result<int64_t> whole(const LayerWords& layer, size_t i, int64_t least, int64_t most) {
    if (i >= layer.numbers.size()) return in_layer(layer, "too few numbers");
    const double value = layer.numbers[i];
    if (value != static_cast<double>(static_cast<int64_t>(value)) ||
        value < static_cast<double>(least) || value > static_cast<double>(most))
      return in_layer(layer, fmt::format("{} lies in {} .. {}", value, least, most));
    return static_cast<int64_t>(value);
  }

  static Status takes(const LayerWords& layer, size_t least, size_t most, bool window = false) {
    if (layer.numbers.size() < least || layer.numbers.size() > most)
      return in_layer(layer,
                      least == most
                          ? fmt::format("takes {}", counted(static_cast<int64_t>(least), "number"))
                          : fmt::format("takes {} or {} numbers", least, most));
    const bool convolution = layer.kind == "conv";
    if ((!window && (layer.stride || layer.pad)) || (layer.groups && !convolution))
      return in_layer(layer, "stride and pad are of conv, depthwise and pools, groups of conv");
    for (const auto& [value, low] :
         {std::pair(layer.stride, 1), std::pair(layer.pad, 0), std::pair(layer.groups, 1)})
      if (value && (*value < low || *value > 4096))
        return in_layer(layer, fmt::format("{} lies in {} .. 4096", *value, low));
    return ok_status();
  }

  Status add(const LayerWords& layer) {
    ends_linear_ = false;
    if (layer.kind == "conv")
      return convolution(layer, OCTET_TRY(whole(layer, 0, 1, kWidestLayer)), 1);
    if (layer.kind == "depthwise") return convolution(layer, channels_, 0);
    if (layer.kind == "pool") return pool(layer, "MaxPool");
    if (layer.kind == "avgpool") return pool(layer, "AveragePool");
    if (layer.kind == "linear") return linear(layer);
    if (layer.kind == "dropout") {
      OCTET_TRY(takes(layer, 1, 1));
      if (!(layer.numbers[0] >= 0 && layer.numbers[0] < 1))
        return in_layer(layer, "it lies in [0, 1)");
      x_ = layers_.dropout(named("dropout"), x_, layer.numbers[0]);
      return ok_status();
    }
    return add_plain(layer);
  }

  /// Layers without numbers.
  Status add_plain(const LayerWords& layer) {
    constexpr std::pair<std::string_view, const char*> kPlainActivations[] = {
        {"relu", "Relu"}, {"tanh", "Tanh"}, {"sigmoid", "Sigmoid"}, {"hardswish", "HardSwish"}};
    const auto* active = std::find_if(std::begin(kPlainActivations), std::end(kPlainActivations),
                                      [&](const auto& row) { return row.first == layer.kind; });
    const bool known = active != std::end(kPlainActivations) || layer.kind == "bn" ||
                       layer.kind == "mean" || layer.kind == "flatten";
    if (!known)
      return in_layer(layer, fmt::format("there is no layer \"{}\"{}", layer.kind,
                                         suggestion(layer.kind, layer_kinds())));
    OCTET_TRY(takes(layer, 0, 0));
    if (active != std::end(kPlainActivations)) {
      x_ = layers_.plain(active->second, {x_}, named(layer.kind));
      return ok_status();
    }
    if (layer.kind != "bn") return flatten(layer);
    if (flat_) return in_layer(layer, "stands behind images");
    x_ = OCTET_TRY(layers_.batch_norm(named("bn"), x_, channels_));
    return ok_status();
  }

  /// `first`: where the size of the window stands among the numbers.
  Status convolution(const LayerWords& layer, int64_t out, size_t first) {
    OCTET_TRY(takes(layer, first + 1, first + 1, true));
    if (flat_) return in_layer(layer, "stands behind images, and a layer before it made a row");
    const int64_t kernel = OCTET_TRY(whole(layer, first, 1, 255));
    const int64_t groups = first == 0 ? channels_ : layer.groups.value_or(1);
    if (channels_ % groups != 0 || out % groups != 0)
      return in_layer(layer, fmt::format("{} groups part neither {} nor {} channels evenly", groups,
                                         channels_, out));
    const int64_t pad = layer.pad.value_or(kernel / 2), stride = layer.stride.value_or(1);
    OCTET_TRY(shrink(layer, kernel, stride, pad));
    x_ = OCTET_TRY(layers_.convolution(named(layer.kind), x_,
                                       {.in = channels_,
                                        .out = out,
                                        .kernel = kernel,
                                        .stride = stride,
                                        .pad = pad,
                                        .groups = groups}));
    channels_ = out;
    return ok_status();
  }

  Status pool(const LayerWords& layer, const char* op) {
    OCTET_TRY(takes(layer, 1, 1, true));
    if (flat_) return in_layer(layer, "stands behind images");
    const int64_t kernel = OCTET_TRY(whole(layer, 0, 1, 255));
    const int64_t pad = layer.pad.value_or(0), stride = layer.stride.value_or(kernel);
    if (pad > kernel / 2) return in_layer(layer, "pads more than half of its window");
    OCTET_TRY(shrink(layer, kernel, stride, pad));
    Attributes window = ints_attribute("kernel_shape", {kernel, kernel});
    window.merge(ints_attribute("strides", {stride, stride}));
    if (pad > 0) window.merge(ints_attribute("pads", {pad, pad, pad, pad}));
    x_ = layers_.emit(op, x_, std::move(window), named(layer.kind));
    return ok_status();
  }

  Status shrink(const LayerWords& layer, int64_t kernel, int64_t stride, int64_t pad) {
    const int64_t room = side_ + 2 * pad - kernel;
    if (room < 0)
      return in_layer(layer, fmt::format("its window of {0} does not fit an image of {1} x {1}",
                                         kernel, side_));
    side_ = room / stride + 1;
    return ok_status();
  }

  Status flatten(const LayerWords& layer) {
    if (flat_) return in_layer(layer, "a layer before it made a row already");
    if (layer.kind == "mean") {
      x_ = layers_.plain("GlobalAveragePool", {x_}, named("mean"));
      side_ = 1;
    }
    return make_flat();
  }

  Status make_flat() {
    x_ = layers_.plain("Flatten", {x_}, named("flatten"));
    channels_ *= side_ * side_;
    flat_ = true;
    return ok_status();
  }

  Status linear(const LayerWords& layer) {
    OCTET_TRY(takes(layer, 1, 1));
    const int64_t out = OCTET_TRY(whole(layer, 0, 1, kWidestLayer));
    if (!flat_) OCTET_TRY(make_flat());
    x_ = OCTET_TRY(layers_.linear(named("linear"), x_, channels_, out));
    channels_ = out;
    ends_linear_ = true;
    return ok_status();
  }

  const CnnOptions& options_;
  LayerBuilder layers_;
  ValueId x_;
  int64_t channels_, side_;
  int64_t number_ = 0;
  bool flat_ = false, ends_linear_ = false;
};

} // namespace

Result<Graph> make_described_cnn(const CnnOptions& options) {
  if (options.image_size < 1 || options.image_size > 4096)
    return error("cnn: images of {0} x {0} pixels; from 1 to 4096 fit", options.image_size);
  return DescribedCnn(options).build().with("cnn");
}

} // namespace octet
