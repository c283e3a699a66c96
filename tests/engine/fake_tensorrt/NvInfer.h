// SPDX-License-Identifier: Apache-2.0
// A stand-in for TensorRT's interface: what src/tensorrt calls of it, with TensorRT's names, for the
// version that NV_TENSORRT_MAJOR says (8, 10 or 11). Flags and functions that a version lacks are
// missing here too. Its builder is fake.cc. That the component compiles against NVIDIA's own headers
// is what tools/check-tensorrt-headers says.
#pragma once

#include <cstddef>
#include <cstdint>

#ifndef NV_TENSORRT_MAJOR
#error "say which TensorRT this stands in for: NV_TENSORRT_MAJOR and NV_TENSORRT_MINOR"
#endif

struct CUstream_st;

namespace nvinfer1 {

using AsciiChar = char;

enum class DataType : int32_t {
  kFLOAT = 0,
  kHALF = 1,
  kINT8 = 2,
  kINT32 = 3,
  kBOOL = 4,
  kUINT8 = 5,
  kFP8 = 6,
#if NV_TENSORRT_MAJOR >= 10
  kBF16 = 7,
  kINT64 = 8,
  kINT4 = 9,
#endif
};

struct Dims {
  static constexpr int32_t MAX_DIMS = 8;
  int32_t nbDims;
#if NV_TENSORRT_MAJOR >= 10
  int64_t d[MAX_DIMS];
#else
  int32_t d[MAX_DIMS];
#endif
};

enum class TensorFormat : int32_t { kLINEAR = 0 };
enum class TensorLocation : int32_t { kDEVICE = 0, kHOST = 1 };
enum class TensorIOMode : int32_t { kNONE = 0, kINPUT = 1, kOUTPUT = 2 };
enum class OptProfileSelector : int32_t { kMIN = 0, kOPT = 1, kMAX = 2 };
enum class ProfilingVerbosity : int32_t { kLAYER_NAMES_ONLY = 0, kNONE = 1, kDETAILED = 2 };
enum class MemoryPoolType : int32_t { kWORKSPACE = 0 };
enum class LayerInformationFormat : int32_t { kONELINE = 0, kJSON = 1 };

enum class BuilderFlag : int32_t {
  kTF32 = 6,
#if NV_TENSORRT_MAJOR < 11
  kFP16 = 0,
  kINT8 = 1,
  kFP8 = 15,
#endif
#if NV_TENSORRT_MAJOR == 10
  kBF16 = 17,
#endif
};

using NetworkDefinitionCreationFlags = uint32_t;
enum class NetworkDefinitionCreationFlag : int32_t {
  kEXPLICIT_BATCH = 0,
#if NV_TENSORRT_MAJOR >= 10
  kSTRONGLY_TYPED = 1,
#endif
};

class ILogger {
 public:
  enum class Severity : int32_t { kINTERNAL_ERROR = 0, kERROR = 1, kWARNING = 2, kINFO = 3 };
  virtual void log(Severity severity, AsciiChar const* message) noexcept = 0;
  virtual ~ILogger() = default;
};

class IHostMemory {
 public:
  virtual ~IHostMemory() = default;
  virtual void* data() const noexcept = 0;
  virtual std::size_t size() const noexcept = 0;
};

class ITensor {
 public:
  virtual ~ITensor() = default;
  virtual char const* getName() const noexcept = 0;
  virtual Dims getDimensions() const noexcept = 0;
  virtual DataType getType() const noexcept = 0;
};

class INetworkDefinition {
 public:
  virtual ~INetworkDefinition() = default;
  virtual int32_t getNbInputs() const noexcept = 0;
  virtual ITensor* getInput(int32_t index) const noexcept = 0;
};

class IOptimizationProfile {
 public:
  virtual ~IOptimizationProfile() = default;
  virtual bool
  setDimensions(char const* input, OptProfileSelector select, Dims const& dims) noexcept = 0;
};

class ITimingCache {
 public:
  virtual ~ITimingCache() = default;
  virtual IHostMemory* serialize() const noexcept = 0;
  virtual bool combine(ITimingCache const& other, bool ignore_mismatch) noexcept = 0;
};

#if NV_TENSORRT_MAJOR >= 10
class IProgressMonitor {
 public:
  virtual ~IProgressMonitor() = default;
  virtual void phaseStart(char const* phase, char const* parent, int32_t steps) noexcept = 0;
  virtual bool stepComplete(char const* phase, int32_t step) noexcept = 0;
  virtual void phaseFinish(char const* phase) noexcept = 0;
};
#endif

#if NV_TENSORRT_MAJOR < 11
enum class CalibrationAlgoType : int32_t { kENTROPY_CALIBRATION_2 = 2, kMINMAX_CALIBRATION = 3 };

class IInt8Calibrator {
 public:
  virtual ~IInt8Calibrator() = default;
  virtual int32_t getBatchSize() const noexcept = 0;
  virtual bool getBatch(void* bindings[], char const* names[], int32_t count) noexcept = 0;
  virtual void const* readCalibrationCache(std::size_t& length) noexcept = 0;
  virtual void writeCalibrationCache(void const* cache, std::size_t length) noexcept = 0;
  virtual CalibrationAlgoType getAlgorithm() noexcept = 0;
};

class IInt8EntropyCalibrator2 : public IInt8Calibrator {
 public:
  CalibrationAlgoType getAlgorithm() noexcept override {
    return CalibrationAlgoType::kENTROPY_CALIBRATION_2;
  }
};

class IInt8MinMaxCalibrator : public IInt8Calibrator {
 public:
  CalibrationAlgoType getAlgorithm() noexcept override {
    return CalibrationAlgoType::kMINMAX_CALIBRATION;
  }
};
#endif

class IBuilderConfig {
 public:
  virtual ~IBuilderConfig() = default;
  virtual void setFlag(BuilderFlag flag) noexcept = 0;
  virtual void clearFlag(BuilderFlag flag) noexcept = 0;
  virtual void setProfilingVerbosity(ProfilingVerbosity verbosity) noexcept = 0;
  virtual void setMemoryPoolLimit(MemoryPoolType pool, std::size_t bytes) noexcept = 0;
  virtual void setBuilderOptimizationLevel(int32_t level) noexcept = 0;
  virtual int32_t addOptimizationProfile(IOptimizationProfile const* profile) noexcept = 0;
  virtual ITimingCache* createTimingCache(void const* bytes, std::size_t size) const noexcept = 0;
  virtual bool setTimingCache(ITimingCache const& cache, bool ignore_mismatch) noexcept = 0;
  virtual ITimingCache const* getTimingCache() const noexcept = 0;
#if NV_TENSORRT_MAJOR < 11
  virtual void setInt8Calibrator(IInt8Calibrator* calibrator) noexcept = 0;
  virtual bool setCalibrationProfile(IOptimizationProfile const* profile) noexcept = 0;
#endif
#if NV_TENSORRT_MAJOR >= 10
  virtual void setProgressMonitor(IProgressMonitor* monitor) noexcept = 0;
#endif
};

class IBuilder {
 public:
  virtual ~IBuilder() = default;
  virtual INetworkDefinition* createNetworkV2(NetworkDefinitionCreationFlags flags) noexcept = 0;
  virtual IOptimizationProfile* createOptimizationProfile() noexcept = 0;
  virtual IBuilderConfig* createBuilderConfig() noexcept = 0;
  virtual IHostMemory* buildSerializedNetwork(INetworkDefinition& network,
                                              IBuilderConfig& config) noexcept = 0;
};

class IProfiler {
 public:
  virtual ~IProfiler() = default;
  virtual void reportLayerTime(char const* layer, float ms) noexcept = 0;
};

class IExecutionContext {
 public:
  virtual ~IExecutionContext() = default;
  virtual bool setInputShape(char const* name, Dims const& dims) noexcept = 0;
  virtual Dims getTensorShape(char const* name) const noexcept = 0;
  virtual bool setInputTensorAddress(char const* name, void const* data) noexcept = 0;
  virtual bool setTensorAddress(char const* name, void* data) noexcept = 0;
  virtual int32_t inferShapes(int32_t count, char const** names) noexcept = 0;
  virtual bool enqueueV3(CUstream_st* stream) noexcept = 0;
  virtual void setProfiler(IProfiler* profiler) noexcept = 0;
};

class IEngineInspector {
 public:
  virtual ~IEngineInspector() = default;
  virtual bool setExecutionContext(IExecutionContext const* context) noexcept = 0;
  virtual char const* getEngineInformation(LayerInformationFormat format) const noexcept = 0;
};

class ICudaEngine {
 public:
  virtual ~ICudaEngine() = default;
  virtual IExecutionContext* createExecutionContext() noexcept = 0;
  virtual IEngineInspector* createEngineInspector() const noexcept = 0;
  virtual int32_t getNbIOTensors() const noexcept = 0;
  virtual char const* getIOTensorName(int32_t index) const noexcept = 0;
  virtual DataType getTensorDataType(char const* name) const noexcept = 0;
  virtual Dims getTensorShape(char const* name) const noexcept = 0;
  virtual TensorFormat getTensorFormat(char const* name) const noexcept = 0;
  virtual TensorIOMode getTensorIOMode(char const* name) const noexcept = 0;
  virtual TensorLocation getTensorLocation(char const* name) const noexcept = 0;
  virtual Dims
  getProfileShape(char const* name, int32_t profile, OptProfileSelector select) const noexcept = 0;
};

class IRuntime {
 public:
  virtual ~IRuntime() = default;
  virtual ICudaEngine* deserializeCudaEngine(void const* bytes, std::size_t size) noexcept = 0;
};

IBuilder* createInferBuilder(ILogger& logger) noexcept;
IRuntime* createInferRuntime(ILogger& logger) noexcept;

} // namespace nvinfer1

extern "C" int32_t getInferLibVersion() noexcept;
