// SPDX-License-Identifier: Apache-2.0
// The stand-in's builder. Layers run in what flags, Q/DQ and ranges allow, in the simplest way: a
// product in int8 where its input is dequantized or has a range as its output has, all else in fp16
// if that is allowed. Timings are lines of text, headed by version and GPU.
#include <cstdlib>
#include <map>
#include <memory>
#include <set>

#include "fake.h"
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "octet/onnx.h"

namespace octet::fake {
namespace {

using Severity = nvinfer1::ILogger::Severity;

std::string timing_heading() {
  return fmt::format("FAKE-TIMINGS {} {}", kVersion, setting("OCTET_FAKE_DEVICE", "first"));
}

class Timings final : public nvinfer1::ITimingCache {
 public:
  explicit Timings(std::string heading) : heading_(std::move(heading)) {}
  nvinfer1::IHostMemory* serialize() const noexcept override {
    std::string text = heading_ + "\n";
    for (const std::string& key : keys_)
      text += key + "\n";
    return new Memory(text);
  }
  bool combine(nvinfer1::ITimingCache const& other, bool ignore_mismatch) noexcept override {
    const auto& from = static_cast<Timings const&>(other);
    if (from.heading_ != heading_ && !ignore_mismatch) return false;
    keys_.insert(from.keys_.begin(), from.keys_.end());
    return true;
  }
  const std::string& heading() const { return heading_; }
  std::set<std::string>& keys() { return keys_; }

 private:
  std::string heading_;
  std::set<std::string> keys_;
};

class Profile final : public nvinfer1::IOptimizationProfile {
 public:
  bool setDimensions(char const* input,
                     nvinfer1::OptProfileSelector select,
                     nvinfer1::Dims const& dims) noexcept override {
    shapes_[input][static_cast<int>(select)] = dims;
    return true;
  }
  /// Inputs with what the profile says of them.
  std::vector<Port> over(std::vector<Port> inputs) const {
    for (Port& input : inputs)
      if (const auto found = shapes_.find(input.name); found != shapes_.end()) {
        input.least = found->second.at(0);
        input.best = found->second.at(1);
        input.most = found->second.at(2);
      }
    return inputs;
  }

 private:
  std::map<std::string, std::map<int, nvinfer1::Dims>> shapes_;
};

const char* flag_name(nvinfer1::BuilderFlag flag) {
  using Flag = nvinfer1::BuilderFlag;
  if (flag == Flag::kTF32) return "tf32";
#if NV_TENSORRT_MAJOR < 11
  if (flag == Flag::kFP16) return "fp16";
  if (flag == Flag::kINT8) return "int8";
  if (flag == Flag::kFP8) return "fp8";
#endif
#if NV_TENSORRT_MAJOR == 10
  if (flag == Flag::kBF16) return "bf16";
#endif
  return "?";
}

class Config final : public nvinfer1::IBuilderConfig {
 public:
  explicit Config(nvinfer1::ILogger& logger) : logger_(logger) {}
  void setFlag(nvinfer1::BuilderFlag flag) noexcept override {
    log_call(fmt::format("set {}", flag_name(flag)));
    flags_.insert(flag_name(flag));
  }
  void clearFlag(nvinfer1::BuilderFlag flag) noexcept override {
    log_call(fmt::format("clear {}", flag_name(flag)));
    flags_.erase(flag_name(flag));
  }
  void setProfilingVerbosity(nvinfer1::ProfilingVerbosity /*verbosity*/) noexcept override {}
  void setMemoryPoolLimit(nvinfer1::MemoryPoolType /*pool*/, std::size_t bytes) noexcept override {
    log_call(fmt::format("workspace {}", bytes));
  }
  void setBuilderOptimizationLevel(int32_t level) noexcept override {
    log_call(fmt::format("level {}", level));
  }
  int32_t addOptimizationProfile(nvinfer1::IOptimizationProfile const* profile) noexcept override {
    profile_ = static_cast<Profile const*>(profile);
    return 0;
  }
  nvinfer1::ITimingCache* createTimingCache(void const* bytes,
                                            std::size_t size) const noexcept override {
    if (size == 0) return new Timings(timing_heading());
    std::string_view text(static_cast<char const*>(bytes), size);
    if (!text.starts_with("FAKE-TIMINGS ")) {
      logger_.log(Severity::kERROR, "Magic tag does not match");
      return nullptr;
    }
    auto out = std::make_unique<Timings>(std::string(text.substr(0, text.find('\n'))));
    while (text.find('\n') != std::string_view::npos) {
      text.remove_prefix(text.find('\n') + 1);
      if (!text.empty()) out->keys().emplace(text.substr(0, text.find('\n')));
    }
    return out.release();
  }
  bool setTimingCache(nvinfer1::ITimingCache const& cache, bool ignore_mismatch) noexcept override {
    const auto& timings = static_cast<Timings const&>(cache);
    if (timings.heading() != timing_heading() && !ignore_mismatch) {
      logger_.log(Severity::kERROR, "Timing cache of another device");
      return false;
    }
    // TensorRT adds to the cache that it was given.
    timings_ = const_cast<Timings*>(&timings);
    return true;
  }
  nvinfer1::ITimingCache const* getTimingCache() const noexcept override { return timings_; }
#if NV_TENSORRT_MAJOR < 11
  void setInt8Calibrator(nvinfer1::IInt8Calibrator* calibrator) noexcept override {
    const bool entropy =
        calibrator->getAlgorithm() == nvinfer1::CalibrationAlgoType::kENTROPY_CALIBRATION_2;
    log_call(fmt::format("calibrator {}", entropy ? "entropy" : "minmax"));
    calibrator_ = calibrator;
  }
  bool setCalibrationProfile(nvinfer1::IOptimizationProfile const* profile) noexcept override {
    calibration_profile_ = static_cast<Profile const*>(profile);
    return true;
  }
#endif
#if NV_TENSORRT_MAJOR >= 10
  void setProgressMonitor(nvinfer1::IProgressMonitor* monitor) noexcept override {
    monitor_ = monitor;
  }
#endif

  bool has(const char* flag) const {
    return flags_.contains(flag);
  }

  nvinfer1::ILogger& logger_;
  std::set<std::string> flags_ = {"tf32"};
  Profile const* profile_ = nullptr;
  Profile const* calibration_profile_ = nullptr;
  Timings* timings_ = nullptr;
#if NV_TENSORRT_MAJOR < 11
  nvinfer1::IInt8Calibrator* calibrator_ = nullptr;
#endif
#if NV_TENSORRT_MAJOR >= 10
  nvinfer1::IProgressMonitor* monitor_ = nullptr;
#endif
};

bool is_strong(const Network& network) {
  return NV_TENSORRT_MAJOR >= 11 || (NV_TENSORRT_MAJOR >= 10 && (network.flags() & 2U) != 0);
}

class Layers {
 public:
  Layers(const Network& network, const Config& config, const std::string& cache)
      : graph_(network.graph()), int8_(config.has("int8") || is_strong(network)),
        half_(config.has("fp16")), cache_(cache) {}

  nlohmann::json json() const {
    nlohmann::json out = nlohmann::json::array();
    const std::vector<NodeId> order = graph_.topological().value();
    for (const NodeId id : order) {
      const Node& node = graph_.node(id);
      const bool moves = node.op_type == "QuantizeLinear" || node.op_type == "DequantizeLinear";
      const char* type = runs_in_int8(node) ? "Int8" : half_ ? "FP16" : "FP32";
      const std::string format = fmt::format("Row major linear {} format", type);
      out.push_back(
          {{"Name", node.name},
           {"LayerType", moves ? "Reformat" : node.op_type},
           {"Metadata", fmt::format("[ONNX Layer: {}]", node.name)},
           {"Inputs", {{{"Name", graph_.value(node.input(0)).name}, {"Format/Datatype", format}}}},
           {"Outputs",
            {{{"Name", graph_.value(node.output(0)).name}, {"Format/Datatype", format}}}}});
    }
    return out;
  }

 private:
  bool has_range(ValueId value) const {
    return cache_.find("\n" + graph_.value(value).name + ": ") != std::string::npos;
  }
  bool runs_in_int8(const Node& node) const {
    const bool product =
        node.op_type == "Conv" || node.op_type == "MatMul" || node.op_type == "Gemm";
    if (!product || !int8_) return false;
    const NodeId producer = graph_.value(node.input(0)).producer;
    if (producer.valid() && graph_.node(producer).op_type == "DequantizeLinear") return true;
    return has_range(node.input(0)) && has_range(node.output(0));
  }

  const Graph& graph_;
  bool int8_, half_;
  const std::string& cache_;
};

class Builder final : public nvinfer1::IBuilder {
 public:
  explicit Builder(nvinfer1::ILogger& logger) : logger_(logger) {}
  nvinfer1::INetworkDefinition*
  createNetworkV2(nvinfer1::NetworkDefinitionCreationFlags flags) noexcept override {
    log_call(fmt::format("network {}", flags));
    return new Network(flags);
  }
  nvinfer1::IOptimizationProfile* createOptimizationProfile() noexcept override {
    return profiles_.emplace_back(std::make_unique<Profile>()).get();
  }
  nvinfer1::IBuilderConfig* createBuilderConfig() noexcept override { return new Config(logger_); }

  nvinfer1::IHostMemory*
  buildSerializedNetwork(nvinfer1::INetworkDefinition& definition,
                         nvinfer1::IBuilderConfig& configuration) noexcept override {
    auto& network = static_cast<Network&>(definition);
    auto& config = static_cast<Config&>(configuration);
    const std::vector<Port> inputs =
        config.profile_ == nullptr ? network.inputs() : config.profile_->over(network.inputs());
    std::string cache;
#if NV_TENSORRT_MAJOR < 11
    if (config.calibrator_ != nullptr) {
      cache = calibrate(network.graph(),
                        config.calibration_profile_ == nullptr
                            ? inputs
                            : config.calibration_profile_->over(inputs),
                        *config.calibrator_, logger_);
      if (cache.empty()) return nullptr;
    }
#endif
#if NV_TENSORRT_MAJOR >= 10
    config.monitor_->phaseStart("Building Engine", nullptr, 1);
    if (!config.monitor_->stepComplete("Building Engine", 0)) return nullptr;
    config.monitor_->phaseFinish("Building Engine");
#endif
    if (const std::string command = setting("OCTET_FAKE_MEANWHILE", ""); !command.empty())
      if (std::system(command.c_str()) != 0) return nullptr;
    const nlohmann::json layers = Layers(network, config, cache).json();
    for (const auto& layer : layers)
      if (config.timings_->keys().insert(layer["Name"].get<std::string>()).second)
        log_call(fmt::format("timed {}", layer["Name"].get<std::string>()));
    log_call("built");
    return new Memory(
        engine_bytes(network.graph(), inputs, nlohmann::json{{"Layers", layers}}.dump()));
  }

 private:
  nvinfer1::ILogger& logger_;
  std::vector<std::unique_ptr<Profile>> profiles_;
};

} // namespace
} // namespace octet::fake

nvinfer1::IBuilder* nvinfer1::createInferBuilder(nvinfer1::ILogger& logger) noexcept {
  return new octet::fake::Builder(logger);
}

extern "C" int32_t getInferLibVersion() noexcept {
  return octet::fake::kVersion;
}
