// SPDX-License-Identifier: Apache-2.0
// An engine that runs: inputs to the GPU, one stream, outputs back. Inputs and outputs are in plain
// row-major order, as the ONNX parser leaves them.
#include <algorithm>
#include <map>
#include <memory>

#include "core/format.h"
#include "core/string_util.h"
#include "tensorrt/cuda.h"
#include "tensorrt/trt.h"

namespace octet::tensorrt {
namespace {

/// Sums the times that TensorRT reports of each layer, after every run.
class LayerTimer final : public nvinfer1::IProfiler {
 public:
  void reportLayerTime(char const* layer, float ms) noexcept override {
    try {
      const auto [at, added] = index_.try_emplace(layer, times_.size());
      if (added) times_.push_back({layer, 0});
      times_[at->second].ms += static_cast<double>(ms);
    } catch (...) { // out of memory: the layer is missing in the table
    }
  }
  void reset() {
    index_.clear();
    times_.clear();
  }
  std::vector<LayerTime> means(int64_t runs) const {
    std::vector<LayerTime> out = times_;
    for (LayerTime& t : out)
      t.ms /= static_cast<double>(runs);
    return out;
  }

 private:
  std::map<std::string, size_t> index_;
  std::vector<LayerTime> times_;
};

class TensorRtEngine final : public Engine {
 public:
  static Result<std::unique_ptr<Engine>> load(std::string_view bytes,
                                              const std::vector<std::string>& inputs,
                                              const std::vector<std::string>& outputs) {
    auto stream = OCTET_TRY(Stream::create());
    auto out = std::unique_ptr<TensorRtEngine>(new TensorRtEngine(std::move(stream)));
    OCTET_TRY(out->open(bytes));
    OCTET_TRY(out->read_ports());
    OCTET_TRY(order(out->inputs_, inputs, "input"));
    OCTET_TRY(order(out->outputs_, outputs, "output"));
    out->buffers_.resize(out->inputs_.size() + out->outputs_.size());
    return std::unique_ptr<Engine>(std::move(out));
  }

  const std::vector<EnginePort>& inputs() const override { return inputs_; }
  const std::vector<EnginePort>& outputs() const override { return outputs_; }

  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs) override {
    if (inputs.size() != inputs_.size())
      return error("the engine has {} inputs and gets {} tensors", inputs_.size(), inputs.size());
    std::vector<Tensor> kept; // shape inputs are read from where they lie
    for (size_t i = 0; i < inputs.size(); ++i)
      kept.push_back(OCTET_TRY(set_input(i, inputs[i])));
    if (context_->inferShapes(0, nullptr) != 0)
      return failure(*logger_, "the engine does not take inputs of these shapes");
    std::vector<Tensor> results;
    for (size_t i = 0; i < outputs_.size(); ++i)
      results.push_back(OCTET_TRY(set_output(i)));
    if (!context_->enqueueV3(stream_.get())) return failure(*logger_, "the engine does not run");
    for (size_t i = 0; i < outputs_.size(); ++i)
      if (!on_host(outputs_[i]))
        OCTET_TRY(buffers_[inputs_.size() + i].download(results[i].mutable_bytes(), stream_));
    OCTET_TRY(stream_.synchronize());
    return results;
  }

  Result<std::string> layers() const override {
    const std::unique_ptr<nvinfer1::IEngineInspector> inspector(engine_->createEngineInspector());
    if (inspector == nullptr) return failure(*logger_, "TensorRT makes no inspector");
    // With sizes for what is open, else the inspector has no formats to tell.
    if (set_best_shapes()) inspector->setExecutionContext(context_.get());
    const char* text = inspector->getEngineInformation(nvinfer1::LayerInformationFormat::kJSON);
    if (text == nullptr || *text == '\0')
      return failure(*logger_, "the engine tells nothing of its layers");
    return std::string(text);
  }

  Result<std::vector<LayerTime>> profile(std::span<const Tensor> inputs, int64_t runs) override {
    LayerTimer timer;
    context_->setProfiler(&timer);
    Status status = ok_status();
    for (int64_t i = 0; i < runs + runs / 10 && status.ok(); ++i) {
      if (i == runs / 10) timer.reset();
      if (Result<std::vector<Tensor>> ran = run(inputs); !ran.ok()) status = std::move(ran).error();
    }
    context_->setProfiler(nullptr);
    OCTET_TRY(std::move(status));
    return timer.means(runs);
  }

 private:
  explicit TensorRtEngine(Stream stream)
      : logger_(std::make_unique<Logger>(nullptr)), stream_(std::move(stream)) {}

  Status open(std::string_view bytes) {
    load_plugins(*logger_);
    runtime_.reset(nvinfer1::createInferRuntime(*logger_));
    if (runtime_ == nullptr) return failure(*logger_, "TensorRT makes no runtime");
    engine_.reset(runtime_->deserializeCudaEngine(bytes.data(), bytes.size()));
    if (engine_ == nullptr)
      return failure(*logger_,
                     "the engine does not load (one runs on the kind of GPU and the TensorRT that "
                     "it was built with; build it here)");
    context_.reset(engine_->createExecutionContext());
    if (context_ == nullptr) return failure(*logger_, "the engine cannot be made ready to run");
    return ok_status();
  }

  Status read_ports() {
    for (int32_t i = 0; i < engine_->getNbIOTensors(); ++i) {
      const char* name = engine_->getIOTensorName(i);
      EnginePort port;
      port.name = name;
      port.type = dtype_of(engine_->getTensorDataType(name));
      port.shape = shape_of(engine_->getTensorShape(name));
      if (port.type == DType::kUndefined)
        return error("the engine's tensor \"{}\" has a type that octet does not know", name);
      if (engine_->getTensorFormat(name) != nvinfer1::TensorFormat::kLINEAR)
        return error("the engine's tensor \"{}\" is not in row-major order; build the engine with "
                     "octet engine build",
                     name);
      const bool input = engine_->getTensorIOMode(name) == nvinfer1::TensorIOMode::kINPUT;
      if (input && !on_host(port)) {
        using Select = nvinfer1::OptProfileSelector;
        port.best = shape_of(engine_->getProfileShape(name, 0, Select::kOPT));
        port.least = shape_of(engine_->getProfileShape(name, 0, Select::kMIN));
        port.most = shape_of(engine_->getProfileShape(name, 0, Select::kMAX));
      }
      (input ? inputs_ : outputs_).push_back(std::move(port));
    }
    return ok_status();
  }

  /// Puts the ports into the order of `names`.
  static Status
  order(std::vector<EnginePort>& ports, const std::vector<std::string>& names, const char* what) {
    if (names.empty()) return ok_status();
    std::vector<EnginePort> out;
    for (const std::string& name : names) {
      const auto found = std::find_if(ports.begin(), ports.end(),
                                      [&](const EnginePort& p) { return p.name == name; });
      if (found == ports.end())
        return error("the engine has no {} \"{}\"; it was built from another model", what, name);
      out.push_back(*found);
    }
    if (out.size() != ports.size())
      return error("the engine has {} {}s and the model {}; it was built from another model",
                   ports.size(), what, out.size());
    ports = std::move(out);
    return ok_status();
  }

  bool on_host(const EnginePort& port) const {
    return engine_->getTensorLocation(port.name.c_str()) == nvinfer1::TensorLocation::kHOST;
  }

  /// The tensor that the engine reads; what is on the host must outlive the run.
  Result<Tensor> set_input(size_t i, const Tensor& given) {
    const EnginePort& port = inputs_[i];
    const Tensor tensor = OCTET_TRY(as_engine_input(given, port)).aligned();
    const nvinfer1::Dims dims = OCTET_TRY_WITH(dims_of(tensor.shape()), port.name);
    if (!context_->setInputShape(port.name.c_str(), dims))
      return error("input \"{}\" of shape {} does not fit the engine, which takes {}{}", port.name,
                   text_of(tensor.shape()), text_of(port.shape),
                   port.most.empty()
                       ? ""
                       : fmt::format(", {} to {}", text_of(port.least), text_of(port.most)));
    bool set = false;
    if (on_host(port)) {
      set = context_->setInputTensorAddress(port.name.c_str(), tensor.bytes().data());
    } else {
      OCTET_TRY(buffers_[i].reserve(tensor.bytes().size()));
      OCTET_TRY(buffers_[i].upload(tensor.bytes(), stream_));
      set = context_->setInputTensorAddress(port.name.c_str(), buffers_[i].data());
    }
    if (!set) return failure(*logger_, fmt::format("the engine does not take \"{}\"", port.name));
    return tensor;
  }

  /// Where the engine writes an output.
  Result<Tensor> set_output(size_t i) {
    const EnginePort& port = outputs_[i];
    Shape shape = shape_of(context_->getTensorShape(port.name.c_str()));
    if (std::find_if(shape.begin(), shape.end(), [](int64_t d) { return d < 0; }) != shape.end())
      return error("the shape {} of output \"{}\" depends on values, which octet does not run with "
                   "TensorRT",
                   text_of(shape), port.name);
    Tensor out = OCTET_TRY_WITH(Tensor::zeros(port.type, std::move(shape)), port.name);
    void* address = out.mutable_bytes().data();
    if (!on_host(port)) {
      DeviceBuffer& buffer = buffers_[inputs_.size() + i];
      OCTET_TRY(buffer.reserve(out.bytes().size()));
      address = buffer.data();
    }
    if (!context_->setTensorAddress(port.name.c_str(), address))
      return failure(*logger_, fmt::format("the engine does not give \"{}\"", port.name));
    return out;
  }

  /// False where an input's values, not only its shape, would be needed.
  bool set_best_shapes() const {
    for (const EnginePort& port : inputs_) {
      if (on_host(port)) return false;
      const nvinfer1::Dims best =
          engine_->getProfileShape(port.name.c_str(), 0, nvinfer1::OptProfileSelector::kOPT);
      if (!context_->setInputShape(port.name.c_str(), best)) return false;
    }
    return true;
  }

  // In this order: each lives on those before it.
  std::unique_ptr<Logger> logger_;
  Stream stream_;
  std::unique_ptr<nvinfer1::IRuntime> runtime_;
  std::unique_ptr<nvinfer1::ICudaEngine> engine_;
  std::vector<DeviceBuffer> buffers_;
  std::unique_ptr<nvinfer1::IExecutionContext> context_;
  std::vector<EnginePort> inputs_, outputs_;
};

} // namespace

Result<std::unique_ptr<Engine>> load_engine(std::string_view engine,
                                            const std::vector<std::string>& inputs,
                                            const std::vector<std::string>& outputs) {
  return TensorRtEngine::load(engine, inputs, outputs);
}

} // namespace octet::tensorrt
