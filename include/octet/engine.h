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

#include "octet/engine_layers.h"
#include "octet/executor.h"

namespace octet {

class CancelToken; // core/progress.h

/// The sizes that an engine takes for one input of open shape; it is tuned for `best`.
struct EngineShapeRange {
  std::string input;
  Shape least, best, most;
};

/// Who chooses what a layer computes in: the builder, among the precisions that are allowed, or the
/// types in the file. TensorRT 8.6 is weakly typed only, 11 strongly typed only.
enum class EngineTyping { kDefault, kWeak, kStrong };

struct EngineBuildOptions {
  EngineTyping typing = EngineTyping::kDefault; ///< default: weak where the version has it
  bool fp16 = false, bf16 = false; ///< weakly typed: what float layers may run in beside fp32
  bool int8 = false, fp8 = false;  ///< weakly typed: needed where the file has Q/DQ of that type
  std::vector<EngineShapeRange> shapes; ///< for every input of open shape
  int64_t workspace_bytes = 0;          ///< bound of the kernels' scratch memory; 0: TensorRT's own
  std::optional<int> optimization_level; ///< 0 to 5; TensorRT's own is 3
  std::string timing_cache; ///< what an earlier build gave; one of another GPU is left unused
  std::function<void(std::string_view)> warn;
  /// A phase of the build and how far it is; TensorRT 10 and newer.
  std::function<void(std::string_view phase, int64_t done, int64_t total)> progress;
  const CancelToken* cancel = nullptr; ///< heeded by TensorRT 10 and newer
};

struct BuiltEngine {
  std::string engine;       ///< the serialized engine
  std::string timing_cache; ///< what was measured, for the next build
  std::string layers;       ///< the inspector's JSON, for `parse_engine_layers`
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

/// The tensor in the element type of an engine's input: integers are narrowed where they fit
/// (TensorRT 8.6 knows no 64-bit ones). Errors: a value or a type that does not fit.
Result<Tensor> as_engine_input(const Tensor& tensor, const EnginePort& port);

} // namespace octet
