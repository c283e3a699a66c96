// SPDX-License-Identifier: Apache-2.0
// The CUDA runtime calls that running an engine takes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include <cuda_runtime_api.h>

#include "octet/result.h"

namespace octet::tensorrt {

/// An error of the runtime, with what was being done.
Status cuda_status(cudaError_t code, const char* what);

/// "NVIDIA H100, compute capability 9.0": the GPU that CUDA uses now.
Result<std::string> device_name();

class Stream {
 public:
  static Result<Stream> create();
  Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  Stream& operator=(Stream&& other) noexcept {
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~Stream();
  cudaStream_t get() const { return stream_; }
  /// Waits until all that was queued is done.
  Status synchronize() const;

 private:
  explicit Stream(cudaStream_t stream) : stream_(stream) {}
  cudaStream_t stream_;
};

/// Memory on the GPU that grows and is kept between runs.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~DeviceBuffer();
  /// At least so many bytes, and at least one: TensorRT wants an address for an empty tensor too.
  Status reserve(size_t bytes);
  void* data() const { return data_; }
  Status upload(std::span<const std::byte> from, const Stream& stream);
  Status download(std::span<std::byte> to, const Stream& stream) const;

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
};

} // namespace octet::tensorrt
