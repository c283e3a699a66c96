// SPDX-License-Identifier: Apache-2.0
#include "models/layer_builder.h"

#include <cmath>

#include "core/philox.h"

namespace octet {

namespace {

constexpr int64_t kLayersOpset = 17;

} // namespace

LayerBuilder::LayerBuilder(std::string name, uint64_t seed) : seed_(seed) {
  graph_.name = std::move(name);
  graph_.opsets[""] = kLayersOpset;
  graph_.info.ir_version = 8;
}

Attributes ints_attribute(const char* key, std::vector<int64_t> values) {
  Attributes a;
  a[key].value = std::move(values);
  return a;
}

ValueId LayerBuilder::input(const std::string& name, const Shape& sizes) {
  std::vector<Dim> dims = {Dim::symbol("N")};
  dims.insert(dims.end(), sizes.begin(), sizes.end());
  return graph_.add_input(name, TypeInfo{DType::kFloat32, std::move(dims), {}});
}

Result<ValueId> LayerBuilder::uniform(const std::string& name, Shape shape, int64_t fan_in) {
  Tensor t = OCTET_TRY(Tensor::zeros(DType::kFloat32, std::move(shape)));
  const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
  Philox random(seed_, stream_++);
  for (float& v : t.mutable_data<float>())
    v = static_cast<float>(random.uniform(-bound, bound));
  return graph_.add_constant(name, std::move(t));
}

Result<ValueId> LayerBuilder::filled(const std::string& name, int64_t count, float value) {
  Tensor t = OCTET_TRY(Tensor::zeros(DType::kFloat32, {count}));
  for (float& v : t.mutable_data<float>())
    v = value;
  return graph_.add_constant(name, std::move(t));
}

Result<ValueId>
LayerBuilder::convolution(const std::string& name, ValueId x, const Convolution& options) {
  const auto& [in, out, kernel, stride, pad, groups, bias] = options;
  const int64_t fan_in = in / groups * kernel * kernel;
  std::vector<ValueId> inputs = {
      x, OCTET_TRY(uniform(name + ".weight", {out, in / groups, kernel, kernel}, fan_in))};
  if (bias) inputs.push_back(OCTET_TRY(uniform(name + ".bias", {out}, fan_in)));
  Attributes attributes = ints_attribute("kernel_shape", {kernel, kernel});
  attributes.merge(ints_attribute("strides", {stride, stride}));
  if (pad > 0) attributes.merge(ints_attribute("pads", {pad, pad, pad, pad}));
  if (groups > 1) attributes["group"].value = groups;
  return graph_.emit("Conv", std::move(inputs), std::move(attributes), name);
}

Result<ValueId>
LayerBuilder::conv_block(const std::string& name, ValueId x, const ConvBlock& options) {
  x = OCTET_TRY(convolution(name, x, options.convolution));
  if (options.batch_norm) x = OCTET_TRY(batch_norm(name + "/norm", x, options.convolution.out));
  return options.activation == nullptr ? x : plain(options.activation, {x}, name + "/active");
}

Result<ValueId>
LayerBuilder::separable_block(const std::string& name, ValueId x, const SeparableBlock& options) {
  const auto& [in, out, stride, batch_norm] = options;
  x = OCTET_TRY(conv_block(
      name + "/depthwise", x,
      {.convolution =
           {.in = in, .out = in, .stride = stride, .pad = 1, .groups = in, .bias = !batch_norm},
       .batch_norm = batch_norm}));
  return conv_block(name + "/pointwise", x,
                    {.convolution = {.in = in, .out = out, .kernel = 1, .bias = !batch_norm},
                     .batch_norm = batch_norm});
}

Result<ValueId> LayerBuilder::batch_norm(const std::string& name, ValueId x, int64_t channels) {
  return graph_.emit("BatchNormalization",
                     {x, OCTET_TRY(filled(name + ".weight", channels, 1)),
                      OCTET_TRY(filled(name + ".bias", channels, 0)),
                      OCTET_TRY(filled(name + ".mean", channels, 0)),
                      OCTET_TRY(filled(name + ".var", channels, 1))},
                     {}, name);
}

Result<ValueId> LayerBuilder::layer_norm(const std::string& name, ValueId x, int64_t width) {
  return graph_.emit("LayerNormalization",
                     {x, OCTET_TRY(filled(name + ".weight", width, 1)),
                      OCTET_TRY(filled(name + ".bias", width, 0))},
                     {}, name);
}

Result<ValueId> LayerBuilder::linear(const std::string& name, ValueId x, int64_t in, int64_t out) {
  const ValueId weight = OCTET_TRY(uniform(name + ".weight", {out, in}, in));
  const ValueId bias = OCTET_TRY(uniform(name + ".bias", {out}, in));
  Attributes attributes;
  attributes["transB"].value = int64_t{1};
  return graph_.emit("Gemm", {x, weight, bias}, std::move(attributes), name);
}

ValueId LayerBuilder::plain(const char* op, std::vector<ValueId> inputs, const std::string& name) {
  return graph_.emit(op, std::move(inputs), {}, name);
}

ValueId LayerBuilder::constant(const std::string& name, Tensor value) {
  return graph_.add_constant(name, std::move(value));
}

ValueId
LayerBuilder::emit(const char* op, ValueId x, Attributes attributes, const std::string& name) {
  return graph_.emit(op, {x}, std::move(attributes), name);
}

ValueId LayerBuilder::dropout(const std::string& name, ValueId x, double ratio) {
  if (ratio == 0) return x;
  const ValueId chance =
      graph_.add_constant(name + ".ratio", Tensor::scalar(static_cast<float>(ratio)));
  return graph_.emit("Dropout", {x, chance}, {}, name);
}

Graph LayerBuilder::finish(ValueId x, const std::string& name, int64_t classes) {
  graph_.rename(x, name);
  graph_.set_type(x, TypeInfo{DType::kFloat32, std::vector<Dim>{Dim::symbol("N"), classes}, {}});
  graph_.mark_output(x);
  return std::move(graph_);
}

} // namespace octet
