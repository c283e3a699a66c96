// SPDX-License-Identifier: Apache-2.0
// The stand-in's engines: the model in octet's reference executor, and the layers that its builder
// wrote down.
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>

#include "fake.h"
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "octet/executor.h"
#include "octet/onnx.h"

namespace octet::fake {
namespace {

using Json = nlohmann::json;

class Context final : public nvinfer1::IExecutionContext {
 public:
  Context(const Graph& graph, const std::vector<Port>& inputs, const Json& layers)
      : graph_(graph), inputs_(inputs), layers_(layers),
        executor_(make_reference_executor(graph).value()) {}

  bool setInputShape(char const* name, nvinfer1::Dims const& dims) noexcept override {
    shapes_[name] = shape_of(dims);
    return true;
  }
  nvinfer1::Dims getTensorShape(char const* name) const noexcept override {
    for (size_t i = 0; i < results_.size(); ++i)
      if (graph_.value(graph_.outputs()[i]).name == name) return dims_of(results_[i].shape());
    return dims_of({-1});
  }
  bool setInputTensorAddress(char const* name, void const* data) noexcept override {
    addresses_[name] = data;
    return true;
  }
  bool setTensorAddress(char const* name, void* data) noexcept override {
    results_at_[name] = data;
    return true;
  }
  /// Runs the model at once: only then are the shapes of its outputs known.
  int32_t inferShapes(int32_t /*count*/, char const** /*names*/) noexcept override {
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < inputs_.size(); ++i)
      inputs.push_back(tensor_at(addresses_.at(inputs_[i].name), shapes_.at(inputs_[i].name),
                                 inputs_[i], graph_.value(graph_.inputs()[i]).type.type));
    Result<std::vector<Tensor>> results = executor_->run(inputs);
    if (!results.ok()) return -1;
    results_ = std::move(*results);
    return 0;
  }
  bool enqueueV3(CUstream_st* /*stream*/) noexcept override {
    for (size_t i = 0; i < results_.size(); ++i) {
      const Tensor result = results_[i].aligned();
      std::memcpy(results_at_.at(graph_.value(graph_.outputs()[i]).name), result.bytes().data(),
                  result.bytes().size());
    }
    if (profiler_ != nullptr)
      for (const Json& layer : layers_)
        profiler_->reportLayerTime(layer["Name"].get<std::string>().c_str(), 0.5F);
    return true;
  }
  void setProfiler(nvinfer1::IProfiler* profiler) noexcept override { profiler_ = profiler; }

 private:
  const Graph& graph_;
  const std::vector<Port>& inputs_;
  const Json& layers_;
  std::unique_ptr<Executor> executor_;
  std::map<std::string, Shape> shapes_;
  std::map<std::string, const void*> addresses_;
  std::map<std::string, void*> results_at_;
  std::vector<Tensor> results_;
  nvinfer1::IProfiler* profiler_ = nullptr;
};

class Inspector final : public nvinfer1::IEngineInspector {
 public:
  explicit Inspector(std::string layers) : layers_(std::move(layers)) {}
  bool setExecutionContext(nvinfer1::IExecutionContext const* /*context*/) noexcept override {
    return true;
  }
  char const*
  getEngineInformation(nvinfer1::LayerInformationFormat /*format*/) const noexcept override {
    return layers_.c_str();
  }

 private:
  std::string layers_;
};

class CudaEngine final : public nvinfer1::ICudaEngine {
 public:
  CudaEngine(Graph graph, const Json& heading)
      : graph_(std::move(graph)), inputs_(ports_of(graph_, graph_.inputs())),
        outputs_(ports_of(graph_, graph_.outputs())), layers_(heading["layers"]) {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      inputs_[i].least = dims_of(heading["inputs"][i]["least"].get<Shape>());
      inputs_[i].best = dims_of(heading["inputs"][i]["best"].get<Shape>());
      inputs_[i].most = dims_of(heading["inputs"][i]["most"].get<Shape>());
    }
  }
  nvinfer1::IExecutionContext* createExecutionContext() noexcept override {
    return new Context(graph_, inputs_, layers_["Layers"]);
  }
  nvinfer1::IEngineInspector* createEngineInspector() const noexcept override {
    return new Inspector(layers_.dump());
  }
  int32_t getNbIOTensors() const noexcept override {
    return static_cast<int32_t>(inputs_.size() + outputs_.size());
  }
  char const* getIOTensorName(int32_t index) const noexcept override {
    const auto at = static_cast<size_t>(index);
    return (at < inputs_.size() ? inputs_[at] : outputs_[at - inputs_.size()]).name.c_str();
  }
  nvinfer1::DataType getTensorDataType(char const* name) const noexcept override {
    return port(name).type;
  }
  nvinfer1::Dims getTensorShape(char const* name) const noexcept override {
    return port(name).dims;
  }
  nvinfer1::TensorFormat getTensorFormat(char const* /*name*/) const noexcept override {
    return nvinfer1::TensorFormat::kLINEAR;
  }
  nvinfer1::TensorIOMode getTensorIOMode(char const* name) const noexcept override {
    for (const Port& input : inputs_)
      if (input.name == name) return nvinfer1::TensorIOMode::kINPUT;
    return nvinfer1::TensorIOMode::kOUTPUT;
  }
  nvinfer1::TensorLocation getTensorLocation(char const* /*name*/) const noexcept override {
    return nvinfer1::TensorLocation::kDEVICE;
  }
  nvinfer1::Dims getProfileShape(char const* name,
                                 int32_t /*profile*/,
                                 nvinfer1::OptProfileSelector select) const noexcept override {
    const Port& p = port(name);
    return select == nvinfer1::OptProfileSelector::kMIN   ? p.least
           : select == nvinfer1::OptProfileSelector::kOPT ? p.best
                                                          : p.most;
  }

 private:
  const Port& port(std::string_view name) const {
    for (const auto* ports : {&inputs_, &outputs_})
      for (const Port& p : *ports)
        if (p.name == name) return p;
    return inputs_.front();
  }

  Graph graph_;
  std::vector<Port> inputs_, outputs_;
  Json layers_;
};

class Runtime final : public nvinfer1::IRuntime {
 public:
  explicit Runtime(nvinfer1::ILogger& logger) : logger_(logger) {}
  nvinfer1::ICudaEngine* deserializeCudaEngine(void const* bytes,
                                               std::size_t size) noexcept override {
    const std::string_view text(static_cast<char const*>(bytes), size);
    const size_t line_end = std::min(text.find('\n'), text.size());
    const Json heading = Json::parse(text.substr(0, line_end), nullptr, false);
    if (heading.is_discarded() || heading.value("version", 0) != kVersion) {
      logger_.log(nvinfer1::ILogger::Severity::kERROR, "Version tag does not match");
      return nullptr;
    }
    const std::string_view model = text.substr(line_end + 1);
    const std::shared_ptr<Buffer> buffer = Buffer::allocate(model.size());
    std::memcpy(buffer->writable(), model.data(), model.size());
    return new CudaEngine(parse_onnx(buffer).value(), heading);
  }

 private:
  nvinfer1::ILogger& logger_;
};

} // namespace

std::string
engine_bytes(const Graph& graph, const std::vector<Port>& inputs, const std::string& layers) {
  Json heading = {
      {"version", kVersion}, {"layers", Json::parse(layers)}, {"inputs", Json::array()}};
  for (const Port& input : inputs)
    heading["inputs"].push_back({{"least", shape_of(input.least)},
                                 {"best", shape_of(input.best)},
                                 {"most", shape_of(input.most)}});
  return heading.dump() + "\n" + serialize_onnx(graph).value();
}

} // namespace octet::fake

nvinfer1::IRuntime* nvinfer1::createInferRuntime(nvinfer1::ILogger& logger) noexcept {
  return new octet::fake::Runtime(logger);
}
