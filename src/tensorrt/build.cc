// SPDX-License-Identifier: Apache-2.0
// An engine from an ONNX file: parsed, given its shapes and precisions, built with a timing cache.
// The versions differ in typing (engine/precisions.cc) and in the calibrator, which 11 lacks.
#include <algorithm>
#include <memory>

#include "core/format.h"
#include "core/progress.h"
#include "tensorrt/calibrator.h"
#include "tensorrt/cuda.h"
#include "tensorrt/trt.h"

namespace octet::tensorrt {
namespace {

template <class T>
using Owned = std::unique_ptr<T>;

// The flags of weak typing are deprecated in 10 and gone in 11.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/// 8.6 to 9 have networks with an implicit batch too, 11 none that are weakly typed.
nvinfer1::NetworkDefinitionCreationFlags network_flags([[maybe_unused]] const EngineFlags& flags) {
  using Flag [[maybe_unused]] = nvinfer1::NetworkDefinitionCreationFlag;
  nvinfer1::NetworkDefinitionCreationFlags out = 0;
#if NV_TENSORRT_MAJOR < 10
  out |= 1U << static_cast<uint32_t>(Flag::kEXPLICIT_BATCH);
#endif
#if NV_TENSORRT_MAJOR >= 9 && NV_TENSORRT_MAJOR < 11
  if (flags.strongly_typed) out |= 1U << static_cast<uint32_t>(Flag::kSTRONGLY_TYPED);
#endif
  return out;
}

void set_precisions(nvinfer1::IBuilderConfig& config, const EngineFlags& flags) {
  using Flag = nvinfer1::BuilderFlag;
  if (flags.tf32) *flags.tf32 ? config.setFlag(Flag::kTF32) : config.clearFlag(Flag::kTF32);
#if NV_TENSORRT_MAJOR < 11
  if (flags.fp16) config.setFlag(Flag::kFP16);
  if (flags.int8) config.setFlag(Flag::kINT8);
#endif
#if NV_TENSORRT_MAJOR >= 9 && NV_TENSORRT_MAJOR < 11
  if (flags.fp8) config.setFlag(Flag::kFP8);
  if (flags.bf16) config.setFlag(Flag::kBF16);
#endif
}
#pragma GCC diagnostic pop

Error parser_error(nvonnxparser::IParser& parser, Logger& logger, const std::string& file) {
  if (parser.getNbErrors() == 0)
    return failure(logger, fmt::format("TensorRT cannot parse {}", file));
  const nvonnxparser::IParserError& first = *parser.getError(0);
#if NV_TENSORRT_MAJOR >= 10
  const std::string where =
      fmt::format("{} \"{}\"", first.nodeOperator() == nullptr ? "node" : first.nodeOperator(),
                  first.nodeName() == nullptr ? "" : first.nodeName());
#else
  const std::string where = fmt::format("node {}", first.node());
#endif
  return error("TensorRT's parser refuses {}: {}: {} (code {}); octet check and octet repair tell "
               "what to do",
               file, where, first.desc() == nullptr ? "" : first.desc(),
               static_cast<int>(first.code()));
}

/// The sizes of the one optimization profile: every input of open shape needs its own.
class Shapes {
 public:
  Shapes(const nvinfer1::INetworkDefinition& network, const EngineBuildOptions& options)
      : network_(network), options_(options) {}

  Status set(nvinfer1::IBuilder& builder, nvinfer1::IBuilderConfig& config) const {
    OCTET_TRY(check_names());
    nvinfer1::IOptimizationProfile* profile = nullptr; // the builder owns it
    for (int32_t i = 0; i < network_.getNbInputs(); ++i) {
      const nvinfer1::ITensor& input = *network_.getInput(i);
      const Shape shape = shape_of(input.getDimensions());
      if (std::find(shape.begin(), shape.end(), -1) == shape.end()) continue;
      if (profile == nullptr) profile = builder.createOptimizationProfile();
      if (profile == nullptr) return Error("TensorRT makes no optimization profile");
      OCTET_TRY(set_input(*profile, input, shape));
    }
    if (profile != nullptr && config.addOptimizationProfile(profile) < 0)
      return Error("TensorRT refuses the shapes; least must not exceed best, nor best most");
    return ok_status();
  }

 private:
  const EngineShapeRange* range_of(std::string_view input) const {
    for (const EngineShapeRange& range : options_.shapes)
      if (range.input == input) return &range;
    return nullptr;
  }

  Status check_names() const {
    for (const EngineShapeRange& range : options_.shapes) {
      bool known = false;
      for (int32_t i = 0; i < network_.getNbInputs(); ++i)
        known = known || range.input == network_.getInput(i)->getName();
      if (!known) return error("the network has no input \"{}\"", range.input);
    }
    return ok_status();
  }

  Status set_input(nvinfer1::IOptimizationProfile& profile,
                   const nvinfer1::ITensor& input,
                   const Shape& shape) const {
    const EngineShapeRange* range = range_of(input.getName());
    if (range == nullptr)
      return error("input \"{}\" has the open shape {}; say for which sizes the engine is built: "
                   "--shape {}=LEAST:BEST:MOST",
                   input.getName(), text_of(shape), input.getName());
    using Select = nvinfer1::OptProfileSelector;
    const std::pair<Select, const Shape*> all[] = {
        {Select::kMIN, &range->least}, {Select::kOPT, &range->best}, {Select::kMAX, &range->most}};
    for (const auto& [select, wanted] : all) {
      const nvinfer1::Dims dims = OCTET_TRY(dims_of(*wanted));
      if (!profile.setDimensions(input.getName(), select, dims))
        return error("input \"{}\" has the shape {}, which {} does not fit", input.getName(),
                     text_of(shape), text_of(*wanted));
    }
    return ok_status();
  }

  const nvinfer1::INetworkDefinition& network_;
  const EngineBuildOptions& options_;
};

#if NV_TENSORRT_MAJOR >= 10
/// Reports the builder's phases and stops it when it is told to.
class Monitor final : public nvinfer1::IProgressMonitor {
 public:
  explicit Monitor(const EngineBuildOptions& options) : options_(options) {}
  void phaseStart(char const* phase, char const* parent, int32_t steps) noexcept override {
    if (parent == nullptr) report(phase, 0, steps);
  }
  bool stepComplete(char const* phase, int32_t step) noexcept override {
    const std::lock_guard lock(mutex_);
    if (phase_ == phase) tell(step + 1);
    return options_.cancel == nullptr || !options_.cancel->cancelled();
  }
  void phaseFinish(char const* /*phase*/) noexcept override {}

 private:
  void report(char const* phase, int64_t done, int64_t total) noexcept {
    const std::lock_guard lock(mutex_);
    phase_ = phase;
    total_ = total;
    tell(done);
  }
  void tell(int64_t done) noexcept {
    try {
      if (options_.progress) options_.progress(phase_, done, total_);
    } catch (...) { // what is shown must not stop the build
    }
  }
  const EngineBuildOptions& options_;
  std::mutex mutex_; ///< the builder works in several threads
  std::string phase_;
  int64_t total_ = 0;
};
#endif

std::string bytes_of(const nvinfer1::IHostMemory& memory) {
  return {static_cast<const char*>(memory.data()), memory.size()};
}

/// What the builder measures: it begins with what earlier builds measured, if TensorRT takes that.
class Timings {
 public:
  static Result<Timings>
  open(nvinfer1::IBuilderConfig& config, const EngineBuildOptions& options, Logger& logger) {
    Timings out(config, options, logger);
    if (options.timing_cache) out.earlier_ = OCTET_TRY(options.timing_cache());
    if (!out.earlier_.empty()) {
      out.cache_ = out.read(out.earlier_);
      out.use_ = TimingCacheUse::kUsed;
      if (out.cache_ != nullptr && config.setTimingCache(*out.cache_, false)) return out;
      out.use_ = TimingCacheUse::kRefused;
      out.warn("the timing cache is not used (of another TensorRT or GPU?)");
    }
    out.cache_ = out.read({});
    if (out.cache_ == nullptr || !config.setTimingCache(*out.cache_, false))
      return failure(logger, "TensorRT makes no timing cache");
    return out;
  }

  TimingCacheUse use() const { return use_; }

  /// What was measured, beside what another build has added to the cache meanwhile.
  Result<std::string> finish() const {
    const nvinfer1::ITimingCache* measured = config_->getTimingCache();
    if (measured == nullptr) return std::string();
    const std::string latest = options_->timing_cache && use_ != TimingCacheUse::kRefused
                                   ? OCTET_TRY(options_->timing_cache())
                                   : std::string();
    if (!latest.empty() && latest != earlier_) {
      const Owned<nvinfer1::ITimingCache> both = read(latest);
      if (both != nullptr && both->combine(*measured, false)) return bytes(*both);
      warn("the timing cache was changed meanwhile, and that is not kept");
    }
    return bytes(*measured);
  }

 private:
  Timings(nvinfer1::IBuilderConfig& config, const EngineBuildOptions& options, Logger& logger)
      : config_(&config), options_(&options), logger_(&logger) {}

  Owned<nvinfer1::ITimingCache> read(std::string_view text) const {
    return Owned<nvinfer1::ITimingCache>(
        config_->createTimingCache(text.empty() ? nullptr : text.data(), text.size()));
  }

  static std::string bytes(const nvinfer1::ITimingCache& cache) {
    const Owned<nvinfer1::IHostMemory> memory(cache.serialize());
    return memory == nullptr ? std::string() : bytes_of(*memory);
  }

  void warn(std::string_view what) const {
    const std::string why = logger_->take_errors();
    if (options_->warn) options_->warn(fmt::format("{}: {}", what, why));
  }

  nvinfer1::IBuilderConfig* config_;
  const EngineBuildOptions* options_;
  Logger* logger_;
  std::string earlier_;
  Owned<nvinfer1::ITimingCache> cache_; ///< the configuration refers to it
  TimingCacheUse use_ = TimingCacheUse::kNone;
};

Status configure(nvinfer1::IBuilderConfig& config,
                 const EngineBuildOptions& options,
                 const EngineFlags& flags) {
  config.setProfilingVerbosity(nvinfer1::ProfilingVerbosity::kDETAILED);
  if (options.workspace_bytes > 0)
    config.setMemoryPoolLimit(nvinfer1::MemoryPoolType::kWORKSPACE,
                              static_cast<size_t>(options.workspace_bytes));
  if (options.optimization_level) {
    if (*options.optimization_level < 0 || *options.optimization_level > 5)
      return error("the optimization level is {}; take 0 to 5", *options.optimization_level);
    config.setBuilderOptimizationLevel(*options.optimization_level);
  }
  set_precisions(config, flags);
  return ok_status();
}

} // namespace

Result<BuiltEngine> build_engine(const std::string& onnx_file, const EngineBuildOptions& options) {
  const EngineFlags flags = OCTET_TRY(engine_flags(library_version(), options));
  Logger logger(options.warn);
  load_plugins(logger);
  const Owned<nvinfer1::IBuilder> builder(nvinfer1::createInferBuilder(logger));
  if (builder == nullptr)
    return failure(logger, "TensorRT makes no builder; it needs an NVIDIA GPU and its driver");
  const Owned<nvinfer1::INetworkDefinition> network(builder->createNetworkV2(network_flags(flags)));
  if (network == nullptr) return failure(logger, "TensorRT makes no network");
  // The network refers to weights that the parser holds.
  const Owned<nvonnxparser::IParser> parser(nvonnxparser::createParser(*network, logger));
  if (parser == nullptr) return failure(logger, "TensorRT makes no parser");
  if (!parser->parseFromFile(onnx_file.c_str(),
                             static_cast<int>(nvinfer1::ILogger::Severity::kWARNING)))
    return parser_error(*parser, logger, onnx_file);

  // The configuration refers to the calibrator.
  const std::unique_ptr<Calibrator> calibrator = OCTET_TRY(make_calibrator(*network, options));
  const Owned<nvinfer1::IBuilderConfig> config(builder->createBuilderConfig());
  if (config == nullptr) return failure(logger, "TensorRT makes no builder configuration");
  OCTET_TRY(configure(*config, options, flags));
  OCTET_TRY(Shapes(*network, options).set(*builder, *config));
  if (calibrator != nullptr) OCTET_TRY(calibrator->set(*builder, *config));
#if NV_TENSORRT_MAJOR >= 10
  Monitor monitor(options);
  config->setProgressMonitor(&monitor);
#endif
  const Timings timings = OCTET_TRY(Timings::open(*config, options, logger));
  const Owned<nvinfer1::IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  if (options.cancel != nullptr && options.cancel->cancelled())
    return Error("stopped by the user", ErrorCode::kCancelled);
  if (calibrator != nullptr) OCTET_TRY(calibrator->status());
  if (plan == nullptr) return failure(logger, "TensorRT builds no engine");

  BuiltEngine out;
  out.engine = bytes_of(*plan);
  out.timing_cache = OCTET_TRY(timings.finish());
  out.timing_cache_use = timings.use();
  out.device = OCTET_TRY(device_name());
  out.flags = flags;
  out.layers = OCTET_TRY(OCTET_TRY(load_engine(out.engine, {}, {}))->layers());
  return out;
}

} // namespace octet::tensorrt
