// SPDX-License-Identifier: Apache-2.0
// TensorRT calls a calibrator from inside the build and takes no errors: they are kept for the
// build's own.
#include "tensorrt/calibrator.h"

#include <algorithm>
#include <exception>

#include "core/format.h"
#include "tensorrt/cuda.h"

namespace octet::tensorrt {

#if NV_TENSORRT_MAJOR < 11
// Calibrators are deprecated from 10.1 on.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace {

/// `Base` is TensorRT's interface of an algorithm.
template <class Base>
class CalibratorOf final : public Calibrator, public Base {
 public:
  CalibratorOf(const nvinfer1::INetworkDefinition& network, EngineCalibration& calibration)
      : network_(network), calibration_(calibration) {}

  Status set(nvinfer1::IBuilder& builder, nvinfer1::IBuilderConfig& config) override {
    OCTET_TRY(set_profile(builder, config));
    config.setInt8Calibrator(this);
    return ok_status();
  }
  const Status& status() const override { return status_; }

  int32_t getBatchSize() const noexcept override {
    return static_cast<int32_t>(calibration_.batch_size());
  }

  bool getBatch(void* bindings[], char const* names[], int32_t count) noexcept override {
    if (!status_.ok()) return false;
    try {
      const std::span<char const* const> inputs(names, static_cast<size_t>(count));
      Result<bool> given = give(bindings, inputs);
      if (given.ok()) return *given;
      status_ = std::move(given).error();
    } catch (const std::exception& e) {
      status_ = error(ErrorCode::kInternal, "calibration: {}", e.what());
    }
    return false;
  }

  void const* readCalibrationCache(std::size_t& length) noexcept override {
    length = calibration_.cache().size();
    return length == 0 ? nullptr : calibration_.cache().data();
  }

  void writeCalibrationCache(void const* cache, std::size_t length) noexcept override {
    if (cache == nullptr || !status_.ok()) return;
    try {
      calibration_.store({static_cast<char const*>(cache), length});
    } catch (const std::exception& e) {
      status_ = error(ErrorCode::kInternal, "calibration: {}", e.what());
    }
  }

 private:
  /// Inputs of open shape need the one of the batches; a cache has none.
  Status set_profile(nvinfer1::IBuilder& builder, nvinfer1::IBuilderConfig& config) {
    nvinfer1::IOptimizationProfile* profile = nullptr; // the builder owns it
    for (const auto& [input, shape] : calibration_.shapes()) {
      const nvinfer1::ITensor* tensor = input_of(input);
      if (tensor == nullptr) continue; // no node reads it
      const Shape declared = shape_of(tensor->getDimensions());
      if (std::find(declared.begin(), declared.end(), -1) == declared.end()) continue;
      if (profile == nullptr) profile = builder.createOptimizationProfile();
      if (profile == nullptr) return Error("TensorRT makes no profile to calibrate in");
      const nvinfer1::Dims dims = OCTET_TRY(dims_of(shape));
      using Select = nvinfer1::OptProfileSelector;
      for (const Select select : {Select::kMIN, Select::kOPT, Select::kMAX})
        if (!profile->setDimensions(input.c_str(), select, dims))
          return error("input \"{}\" has the shape {}, which that of the calibration data, {}, "
                       "does not fit",
                       input, text_of(declared), text_of(shape));
    }
    if (profile != nullptr && !config.setCalibrationProfile(profile))
      return Error("TensorRT refuses the shapes of the calibration data");
    return ok_status();
  }

  const nvinfer1::ITensor* input_of(std::string_view name) const {
    for (int32_t i = 0; i < network_.getNbInputs(); ++i)
      if (name == network_.getInput(i)->getName()) return network_.getInput(i);
    return nullptr;
  }

  /// False at the end of the data.
  Result<bool> give(void* bindings[], std::span<char const* const> names) {
    const auto batch = OCTET_TRY(calibration_.next(names));
    if (!batch) return false;
    if (!stream_) stream_ = OCTET_TRY(Stream::create());
    buffers_.resize(names.size());
    std::vector<Tensor> kept; // read by the copies
    for (size_t i = 0; i < names.size(); ++i) {
      const nvinfer1::ITensor* input = input_of(names[i]);
      if (input == nullptr) return error("the network has no input \"{}\"", names[i]);
      EnginePort port;
      port.name = names[i];
      port.type = dtype_of(input->getType());
      kept.push_back(OCTET_TRY(as_engine_input((*batch)[i], port)).aligned());
      OCTET_TRY(buffers_[i].reserve(kept[i].bytes().size()));
      OCTET_TRY(buffers_[i].upload(kept[i].bytes(), *stream_));
      bindings[i] = buffers_[i].data();
    }
    OCTET_TRY(stream_->synchronize());
    return true;
  }

  const nvinfer1::INetworkDefinition& network_;
  EngineCalibration& calibration_;
  std::optional<Stream> stream_;
  std::vector<DeviceBuffer> buffers_; ///< TensorRT reads them until it asks for the next batch
  Status status_ = ok_status();
};

} // namespace

Result<std::unique_ptr<Calibrator>> make_calibrator(const nvinfer1::INetworkDefinition& network,
                                                    const EngineBuildOptions& options) {
  std::unique_ptr<Calibrator> out;
  if (!options.calibrator) return out;
  if (options.calibration == nullptr) return Error("a calibrator has no data and no cache");
  using Entropy = CalibratorOf<nvinfer1::IInt8EntropyCalibrator2>;
  using Extremes = CalibratorOf<nvinfer1::IInt8MinMaxCalibrator>;
  if (*options.calibrator == EngineCalibrator::kEntropy)
    out = std::make_unique<Entropy>(network, *options.calibration);
  else
    out = std::make_unique<Extremes>(network, *options.calibration);
  return out;
}
#pragma GCC diagnostic pop

#else

Result<std::unique_ptr<Calibrator>> make_calibrator(const nvinfer1::INetworkDefinition& /*network*/,
                                                    const EngineBuildOptions& /*options*/) {
  return std::unique_ptr<Calibrator>(); // engine_flags() refuses one
}

#endif

} // namespace octet::tensorrt
