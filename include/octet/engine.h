// SPDX-License-Identifier: Apache-2.0
// TensorRT engines: built from an ONNX file, run, timed layer by layer, and held against what
// `explain` predicted. The work is done by liboctet_tensorrt.so, which is loaded when `engine_api`
// is called for the first time; no TensorRT type appears here.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "octet/engine_calibration.h"
#include "octet/engine_layers.h"
#include "octet/executor.h"

namespace octet {

class CancelToken; // core/progress.h

/// The sizes that an engine takes for one input of open shape; it is tuned for `best`.
struct EngineShapeRange {
  std::string input;
  Shape least, best, most;
};

/// What layers of a weakly typed engine may compute in; the builder chooses among them, and fp32 is
/// always one of them.
enum class EnginePrecision { kFp32, kTf32, kFp16, kBf16, kFp8, kInt8 };
std::string_view name(EnginePrecision precision); ///< "fp32", ...
Result<EnginePrecision> parse_engine_precision(std::string_view text);

/// How the builder is told what to compute in.
struct EngineFlags {
  bool strongly_typed = false; ///< each layer in the types that the file has
  bool fp16 = false, bf16 = false, fp8 = false, int8 = false;
  std::optional<bool> tf32; ///< none: left as TensorRT has it, which is on
  bool operator==(const EngineFlags&) const = default;
};
std::string flags_text(const EngineFlags& flags); ///< "weakly typed, fp16, int8, tf32 off"

struct EngineBuildOptions {
  bool strongly_typed = false; ///< TensorRT 8.6 has no such networks, 11 no others
  std::vector<EnginePrecision> precisions;
  bool int8_codes = false, fp8_codes = false; ///< the file has Q/DQ of that type
  std::optional<EngineCalibrator> calibrator; ///< implicit quantization, of TensorRT before 11
  EngineCalibration* calibration = nullptr;   ///< what feeds that calibrator
  std::vector<EngineShapeRange> shapes;       ///< for every input of open shape
  int64_t workspace_bytes = 0; ///< bound of the kernels' scratch memory; 0: TensorRT's own
  std::optional<int> optimization_level; ///< 0 to 5; TensorRT's own is 3
  /// What earlier builds measured; empty: nothing. It is asked for before the build, and again
  /// behind it: what another build has added meanwhile is kept.
  std::function<Result<std::string>()> timing_cache;
  std::function<void(std::string_view)> warn;
  /// A phase of the build and how far it is; TensorRT 10 and newer.
  std::function<void(std::string_view phase, int64_t done, int64_t total)> progress;
  const CancelToken* cancel = nullptr; ///< heeded by TensorRT 10 and newer
};

/// What became of the timing cache of earlier builds.
enum class TimingCacheUse {
  kNone, ///< there was none
  kUsed,
  kRefused, ///< it is of another TensorRT or GPU, or none at all
};
std::string_view name(TimingCacheUse use); ///< "none", ...

struct BuiltEngine {
  std::string engine;       ///< the serialized engine
  std::string timing_cache; ///< what was measured, with what was known before, for the next build
  TimingCacheUse timing_cache_use = TimingCacheUse::kNone;
  std::string layers; ///< the inspector's JSON, for `parse_engine_layers`
  std::string device; ///< "NVIDIA H100, compute capability 9.0"
  EngineFlags flags;
};

/// An input or output of an engine. Open sizes are -1.
struct EnginePort {
  std::string name;
  DType type = DType::kUndefined;
  Shape shape;
  Shape least, best, most; ///< of inputs: what the engine was built for
};

class Engine : public Executor {
 public:
  virtual const std::vector<EnginePort>& inputs() const = 0;
  virtual const std::vector<EnginePort>& outputs() const = 0;
  /// The inspector's JSON; errors where the engine was built without.
  virtual Result<std::string> layers() const = 0;
  /// Mean times of the layers over so many runs, in their order, after a tenth as many to warm up.
  virtual Result<std::vector<LayerTime>> profile(std::span<const Tensor> inputs, int64_t runs) = 0;
};

/// What liboctet_tensorrt.so offers. No call throws.
class EngineApi {
 public:
  virtual ~EngineApi() = default;
  virtual std::string_view octet_version() const = 0; ///< that the library was built with
  virtual std::string tensorrt_version() const = 0;   ///< of the loaded libnvinfer: "10.1.0"

  /// Errors: no GPU, what the parser says of a node, shapes that are missing or do not fit, what
  /// the builder says.
  virtual Result<BuiltEngine> build(const std::string& onnx_file,
                                    const EngineBuildOptions& options) = 0;
  /// `inputs` and `outputs` name the order of the tensors of `run`; empty: the engine's own.
  /// Errors: no GPU, an engine of another TensorRT or GPU, or of another model (a name that it
  /// lacks).
  virtual Result<std::unique_ptr<Engine>> load(std::string_view engine,
                                               const std::vector<std::string>& inputs,
                                               const std::vector<std::string>& outputs) = 0;
};

/// Loads liboctet_tensorrt.so, which is looked for beside liboctet, then on the library path. The
/// error says where it was looked for and how to build it.
Result<EngineApi*> engine_api();

/// What a version ("10.1.0") is told to make these options come true. Errors: a precision or a kind
/// of network that it lacks, options that contradict each other, and precisions that the file has no
/// numbers for.
Result<EngineFlags> engine_flags(std::string_view version, const EngineBuildOptions& options);

/// The tensor in the element type of an engine's input: integers are narrowed where they fit
/// (TensorRT 8.6 knows no 64-bit ones). Errors: a value or a type that does not fit.
Result<Tensor> as_engine_input(const Tensor& tensor, const EnginePort& port);

} // namespace octet
