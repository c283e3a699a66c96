// SPDX-License-Identifier: Apache-2.0
// TensorRT's headers (8.6 to 11), and in octet's words what its types say.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include <NvInfer.h>
#include <NvOnnxParser.h>

#include "octet/engine.h"

#if NV_TENSORRT_MAJOR < 8 || (NV_TENSORRT_MAJOR == 8 && NV_TENSORRT_MINOR < 6)
#error "octet's engines need TensorRT 8.6 or newer"
#endif

namespace octet::tensorrt {

/// Keeps what TensorRT calls errors, for the error of the call that failed; warnings go to `warn`.
/// TensorRT logs from its own threads too.
class Logger final : public nvinfer1::ILogger {
 public:
  explicit Logger(std::function<void(std::string_view)> warn) : warn_(std::move(warn)) {}
  void log(Severity severity, nvinfer1::AsciiChar const* message) noexcept override;
  /// The first errors since the last call as one line; "it gives no reason" where there were none.
  std::string take_errors();

 private:
  std::mutex mutex_;
  std::function<void(std::string_view)> warn_;
  std::string errors_;
  int count_ = 0;
};

/// `what`, and what the logger has kept.
Error failure(Logger& logger, std::string_view what);

DType dtype_of(nvinfer1::DataType type); ///< kUndefined: octet has no such type
Shape shape_of(const nvinfer1::Dims& dims);
/// Errors: more dimensions, or larger ones, than this TensorRT takes.
Result<nvinfer1::Dims> dims_of(const Shape& shape);
std::string text_of(const Shape& shape); ///< "1x3x224x224", ? for an open size

std::string library_version(); ///< of the loaded libnvinfer: "10.1.0"

/// Makes the operators of NVIDIA's own plugin library known, if that is installed: the parser
/// of 8.6 uses some of them.
void load_plugins(Logger& logger);

Result<BuiltEngine> build_engine(const std::string& onnx_file, const EngineBuildOptions& options);
Result<std::unique_ptr<Engine>> load_engine(std::string_view engine,
                                            const std::vector<std::string>& inputs,
                                            const std::vector<std::string>& outputs);

} // namespace octet::tensorrt
