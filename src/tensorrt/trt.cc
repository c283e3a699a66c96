// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/trt.h"

#include <limits>

#include "core/format.h"
#include "core/shared_library.h"

namespace octet::tensorrt {

void Logger::log(Severity severity, nvinfer1::AsciiChar const* message) noexcept {
  if (severity > Severity::kWARNING || message == nullptr) return;
  try {
    const std::lock_guard lock(mutex_);
    if (severity == Severity::kWARNING) {
      if (warn_) warn_(message);
      return;
    }
    constexpr int kKept = 3; // what follows the first ones are their consequences
    if (++count_ > kKept) return;
    errors_ += errors_.empty() ? "" : "; ";
    for (const char* c = message; *c != '\0'; ++c)
      errors_ += *c == '\n' ? ' ' : *c;
  } catch (...) { // out of memory: the failure itself is still reported
  }
}

std::string Logger::take_errors() {
  const std::lock_guard lock(mutex_);
  count_ = 0;
  std::string out = std::move(errors_);
  errors_.clear();
  return out.empty() ? "it gives no reason" : out;
}

Error failure(Logger& logger, std::string_view what) {
  return error("{}: {}", what, logger.take_errors());
}

DType dtype_of(nvinfer1::DataType type) {
  // By number: each version has more of them than the one before it, and renumbers none.
  constexpr DType kTypes[] = {DType::kFloat32,      DType::kFloat16,    DType::kInt8,
                              DType::kInt32,        DType::kBool,       DType::kUint8,
                              DType::kFloat8E4M3FN, DType::kBfloat16,   DType::kInt64,
                              DType::kInt4,         DType::kFloat4E2M1, DType::kFloat8E8M0};
  static_assert(static_cast<int>(nvinfer1::DataType::kHALF) == 1 &&
                static_cast<int>(nvinfer1::DataType::kBOOL) == 4 &&
                static_cast<int>(nvinfer1::DataType::kFP8) == 6);
#if NV_TENSORRT_MAJOR >= 10
  static_assert(static_cast<int>(nvinfer1::DataType::kBF16) == 7 &&
                static_cast<int>(nvinfer1::DataType::kINT4) == 9);
#endif
  const auto number = static_cast<size_t>(type);
  return number < std::size(kTypes) ? kTypes[number] : DType::kUndefined;
}

Shape shape_of(const nvinfer1::Dims& dims) {
  Shape out;
  for (int32_t i = 0; i < dims.nbDims; ++i)
    out.push_back(dims.d[i]);
  return out;
}

Result<nvinfer1::Dims> dims_of(const Shape& shape) {
  nvinfer1::Dims out{};
  using Size = std::remove_reference_t<decltype(out.d[0])>; // 32 bits wide up to TensorRT 9
  if (shape.size() > static_cast<size_t>(nvinfer1::Dims::MAX_DIMS))
    return error("TensorRT takes {} dimensions, not {}", int{nvinfer1::Dims::MAX_DIMS},
                 shape.size());
  out.nbDims = static_cast<int32_t>(shape.size());
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] > std::numeric_limits<Size>::max())
      return error("this TensorRT takes no dimension of size {}", shape[i]);
    out.d[i] = static_cast<Size>(shape[i]);
  }
  return out;
}

std::string text_of(const Shape& shape) {
  std::string out;
  for (const int64_t size : shape)
    out += (out.empty() ? "" : "x") + (size < 0 ? std::string("?") : std::to_string(size));
  return out.empty() ? "scalar" : out;
}

std::string library_version() {
  // 8601 is 8.6.1, 100100 is 10.1.0 (NvInferVersion.h).
  const int number = getInferLibVersion();
  if (number < 10000)
    return fmt::format("{}.{}.{}", number / 1000, number / 100 % 10, number % 100);
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

void load_plugins(Logger& logger) {
  const std::string versioned =
      fmt::format("libnvinfer_plugin.so.{}", static_cast<int>(NV_TENSORRT_MAJOR));
  const auto library = SharedLibrary::open({versioned.c_str(), "libnvinfer_plugin.so"}, "");
  if (!library.ok()) return;
  bool (*init)(void*, const char*) = nullptr;
  if (library->load("initLibNvInferPlugins", init).ok()) init(&logger, "");
}

} // namespace octet::tensorrt
