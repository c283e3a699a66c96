// SPDX-License-Identifier: Apache-2.0
// The small convolutional classifier as a graph.
#include <cmath>

#include "core/format.h"
#include "core/philox.h"

#include "octet/models.h"

namespace octet {
namespace {

constexpr int64_t kOpset = 17;

class CnnBuilder {
 public:
  explicit CnnBuilder(const CnnOptions& options) : options_(options) {
    graph_.name = "cnn";
    graph_.opsets[""] = kOpset;
    graph_.info.ir_version = 8;
  }

  Result<Graph> build(int64_t features) {
    const int64_t size = options_.image_size;
    ValueId x = graph_.add_input(
        "x", TypeInfo{DType::kFloat32,
                      std::vector<Dim>{Dim::symbol("N"), options_.image_channels, size, size},
                      {}});
    x = OCTET_TRY(convolution("conv1", x, options_.image_channels, options_.channels1));
    x = OCTET_TRY(convolution("conv2", x, options_.channels1, options_.channels2));
    Attributes window = ints("kernel_shape", {3, 3});
    window.merge(ints("strides", {2, 2}));
    x = graph_.emit("AveragePool", {x}, window, "pool");
    x = graph_.emit("Flatten", {x}, {}, "flatten");
    x = dropout("dropout1", x);
    x = OCTET_TRY(linear("fc1", x, features, options_.hidden));
    if (options_.hidden_relu) x = graph_.emit("Relu", {x}, {}, "relu3");
    x = dropout("dropout2", x);
    x = OCTET_TRY(linear("fc2", x, options_.hidden, options_.classes));
    if (options_.softmax) {
      Attributes axis;
      axis["axis"].value = int64_t{-1};
      x = graph_.emit("Softmax", {x}, axis, "softmax");
    }
    graph_.rename(x, options_.softmax ? "probabilities" : "logits");
    graph_.set_type(
        x, TypeInfo{DType::kFloat32, std::vector<Dim>{Dim::symbol("N"), options_.classes}, {}});
    graph_.mark_output(x);
    return std::move(graph_);
  }

 private:
  static Attributes ints(const char* key, std::vector<int64_t> values) {
    Attributes a;
    a[key].value = std::move(values);
    return a;
  }

  /// A constant uniform in +-1/sqrt(fan_in); each has its own stream of the seed.
  Result<ValueId> uniform(const std::string& name, Shape shape, int64_t fan_in) {
    Tensor t = OCTET_TRY(Tensor::zeros(DType::kFloat32, std::move(shape)));
    const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
    Philox random(options_.seed, stream_++);
    for (float& v : t.mutable_data<float>())
      v = static_cast<float>(random.uniform(-bound, bound));
    return graph_.add_constant(name, std::move(t));
  }

  Result<ValueId> filled(const std::string& name, int64_t count, float value) {
    Tensor t = OCTET_TRY(Tensor::zeros(DType::kFloat32, {count}));
    for (float& v : t.mutable_data<float>())
      v = value;
    return graph_.add_constant(name, std::move(t));
  }

  /// Convolution, batch normalization if wanted, relu.
  Result<ValueId> convolution(const std::string& name, ValueId x, int64_t in, int64_t out) {
    const ValueId weight = OCTET_TRY(uniform(name + ".weight", {out, in, 3, 3}, in * 9));
    const ValueId bias = OCTET_TRY(uniform(name + ".bias", {out}, in * 9));
    Attributes attributes = ints("kernel_shape", {3, 3});
    attributes.merge(ints("strides", {2, 2}));
    x = graph_.emit("Conv", {x, weight, bias}, attributes, name);
    const std::string number = name.substr(name.size() - 1);
    if (options_.batch_norm) {
      const std::string bn = "bn" + number;
      x = graph_.emit(
          "BatchNormalization",
          {x, OCTET_TRY(filled(bn + ".weight", out, 1)), OCTET_TRY(filled(bn + ".bias", out, 0)),
           OCTET_TRY(filled(bn + ".mean", out, 0)), OCTET_TRY(filled(bn + ".var", out, 1))},
          {}, bn);
    }
    return graph_.emit("Relu", {x}, {}, "relu" + number);
  }

  Result<ValueId> linear(const std::string& name, ValueId x, int64_t in, int64_t out) {
    const ValueId weight = OCTET_TRY(uniform(name + ".weight", {out, in}, in));
    const ValueId bias = OCTET_TRY(uniform(name + ".bias", {out}, in));
    Attributes attributes;
    attributes["transB"].value = int64_t{1};
    return graph_.emit("Gemm", {x, weight, bias}, attributes, name);
  }

  ValueId dropout(const std::string& name, ValueId x) {
    if (options_.dropout == 0) return x;
    const ValueId ratio =
        graph_.add_constant(name + ".ratio", Tensor::scalar(static_cast<float>(options_.dropout)));
    return graph_.emit("Dropout", {x, ratio}, {}, name);
  }

  const CnnOptions& options_;
  Graph graph_;
  uint64_t stream_ = 0;
};

/// Output size of a window of 3 with stride 2, or 0 when the window does not fit.
int64_t halved(int64_t size) {
  return size < 3 ? 0 : (size - 3) / 2 + 1;
}

} // namespace

Result<Graph> make_cnn(const CnnOptions& options) {
  const std::pair<const char*, int64_t> widths[] = {{"image channels", options.image_channels},
                                                    {"channels1", options.channels1},
                                                    {"channels2", options.channels2},
                                                    {"hidden", options.hidden},
                                                    {"classes", options.classes}};
  for (const auto& [what, value] : widths)
    if (value < 1 || value > 65536)
      return error("cnn: {} is {}; it lies in 1 .. 65536", what, value);
  if (!(options.dropout >= 0 && options.dropout < 1))
    return error("cnn: dropout is {}; it lies in [0, 1)", options.dropout);
  const int64_t side = halved(halved(halved(options.image_size)));
  if (side < 1 || options.image_size > 4096)
    return error("cnn: images of {0} x {0} pixels; from 15 x 15 to 4096 x 4096 fit",
                 options.image_size);
  return CnnBuilder(options).build(options.channels2 * side * side);
}

} // namespace octet
