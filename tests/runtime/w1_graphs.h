// SPDX-License-Identifier: Apache-2.0
// The small convolutional network with Q/DQ written by hand in the forms that targets want.
#pragma once

#include "core/philox.h"

#include "octet/graph.h"

namespace octet::test {

enum class QdqForm {
  kTensorRt,    ///< Q before products only, float bias, zero point 0
  kOnnxRuntime, ///< Q after every layer, Relu absorbed by zero point -128, int32 bias
  kUint8,       ///< as kOnnxRuntime with uint8 activations
};

class W1Builder {
 public:
  explicit W1Builder(QdqForm form) : form_(form) { g_.opsets[""] = 17; }

  Graph build() {
    ValueId x =
        g_.add_input("x", {DType::kFloat32, std::vector<Dim>{Dim::symbol("N"), 1, 28, 28}, {}});
    x = activation(x, 0.02F, false, "x");
    x = conv(x, 0.02F, 1, 8, "conv1", 0.05F);
    x = conv(x, 0.05F, 8, 64, "conv2", 0.09F);
    Attributes pool;
    pool["kernel_shape"].value = std::vector<int64_t>{3, 3};
    pool["strides"].value = std::vector<int64_t>{2, 2};
    x = g_.emit("AveragePool", {x}, pool, "pool");
    x = activation(x, 0.06F, form_ != QdqForm::kTensorRt, "pooled");
    x = g_.emit("Flatten", {x}, {}, "flatten");
    if (form_ != QdqForm::kTensorRt) x = activation(x, 0.06F, true, "flat");
    x = linear(x, 0.06F, 256, 128, "fc1");
    x = activation(x, 0.03F, false, "hidden");
    x = linear(x, 0.03F, 128, 10, "fc2");
    if (form_ != QdqForm::kTensorRt) x = activation(x, 0.08F, false, "logits");
    x = g_.emit("Softmax", {x}, {}, "softmax");
    g_.rename(x, "y");
    g_.mark_output(x);
    return std::move(g_);
  }

 private:
  bool is_uint8() const { return form_ == QdqForm::kUint8; }
  Tensor zero(bool relu) const {
    if (form_ == QdqForm::kTensorRt) return Tensor::scalar<int8_t>(0);
    if (is_uint8()) return Tensor::scalar<uint8_t>(relu ? 0 : 128);
    return Tensor::scalar<int8_t>(relu ? -128 : 0);
  }

  ValueId activation(ValueId x, float scale, bool relu, const std::string& name) {
    const ValueId s = g_.add_constant(name + "_scale", Tensor::scalar(scale));
    const ValueId z = g_.add_constant(name + "_zero", zero(relu));
    const ValueId q = g_.emit("QuantizeLinear", {x, s, z}, {}, name + "_q");
    return g_.emit("DequantizeLinear", {q, s, z}, {}, name + "_dq");
  }

  ValueId weights(Shape shape, const std::string& name, std::vector<float>& scales) {
    Tensor codes = Tensor::zeros(DType::kInt8, shape).value();
    for (int8_t& c : codes.mutable_data<int8_t>())
      c = static_cast<int8_t>(random_.below(255) - 127);
    for (int64_t n = 0; n < shape[0]; ++n)
      scales.push_back(static_cast<float>(random_.uniform(0.0005, 0.002)));
    Attributes axis;
    axis["axis"].value = int64_t{0};
    const ValueId w = g_.add_constant(name + "_w", codes);
    const ValueId s = g_.add_constant(name + "_ws", Tensor::of<float>({shape[0]}, scales));
    const ValueId z = g_.add_constant(
        name + "_wz", Tensor::of<int8_t>({shape[0]}, std::vector<int8_t>(scales.size(), 0)));
    return g_.emit("DequantizeLinear", {w, s, z}, axis, name + "_wdq");
  }

  ValueId
  bias(int64_t n, float x_scale, const std::vector<float>& scales, const std::string& name) {
    if (form_ == QdqForm::kTensorRt) {
      std::vector<float> b;
      for (int64_t i = 0; i < n; ++i)
        b.push_back(static_cast<float>(random_.uniform(-0.2, 0.2)));
      return g_.add_constant(name + "_b", Tensor::of<float>({n}, b));
    }
    std::vector<int32_t> codes;
    std::vector<float> s;
    for (int64_t i = 0; i < n; ++i) {
      codes.push_back(static_cast<int32_t>(random_.below(4000) - 2000));
      s.push_back(scales[static_cast<size_t>(i)] * x_scale);
    }
    Attributes axis;
    axis["axis"].value = int64_t{0};
    return g_.emit("DequantizeLinear",
                   {g_.add_constant(name + "_b", Tensor::of<int32_t>({n}, codes)),
                    g_.add_constant(name + "_bs", Tensor::of<float>({n}, s))},
                   axis, name + "_bdq");
  }

  ValueId
  conv(ValueId x, float x_scale, int64_t in, int64_t out, const std::string& name, float y_scale) {
    std::vector<float> scales;
    const ValueId w = weights({out, in, 3, 3}, name, scales);
    const ValueId b = bias(out, x_scale, scales, name);
    Attributes attributes;
    attributes["strides"].value = std::vector<int64_t>{2, 2};
    ValueId y = g_.emit("Conv", {x, w, b}, attributes, name);
    if (form_ == QdqForm::kTensorRt) y = g_.emit("Relu", {y}, {}, name + "_relu");
    return activation(y, y_scale, true, name + "_y");
  }

  ValueId linear(ValueId x, float x_scale, int64_t in, int64_t out, const std::string& name) {
    std::vector<float> scales;
    const ValueId w = weights({out, in}, name, scales);
    const ValueId b = bias(out, x_scale, scales, name);
    Attributes attributes;
    attributes["transB"].value = int64_t{1};
    return g_.emit("Gemm", {x, w, b}, attributes, name);
  }

  QdqForm form_;
  Graph g_;
  Philox random_{7};
};

/// Images [n, 1, 28, 28] with values as standardized pixels have.
inline Tensor random_images(int64_t n, uint64_t seed) {
  Tensor t = Tensor::zeros(DType::kFloat32, {n, 1, 28, 28}).value();
  Philox random(seed);
  for (float& v : t.mutable_data<float>())
    v = static_cast<float>(random.uniform(-0.8, 2.0));
  return t;
}

} // namespace octet::test
