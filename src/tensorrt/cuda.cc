// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/cuda.h"

#include <algorithm>

#include "core/format.h"

namespace octet::tensorrt {

Status cuda_status(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return ok_status();
  return error(ErrorCode::kUnsupported, "CUDA cannot {}: {}", what, cudaGetErrorString(code));
}

Result<std::string> device_name() {
  int device = 0;
  OCTET_TRY(cuda_status(cudaGetDevice(&device), "say which GPU it uses"));
  cudaDeviceProp properties{};
  OCTET_TRY(cuda_status(cudaGetDeviceProperties(&properties, device), "name the GPU"));
  return fmt::format("{}, compute capability {}.{}", properties.name, properties.major,
                     properties.minor);
}

Result<Stream> Stream::create() {
  cudaStream_t stream = nullptr;
  OCTET_TRY(cuda_status(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                        "make a stream on the GPU"));
  return Stream(stream);
}

Stream::~Stream() {
  if (stream_ != nullptr) cudaStreamDestroy(stream_);
}

Status Stream::synchronize() const {
  return cuda_status(cudaStreamSynchronize(stream_), "finish the run on the GPU");
}

DeviceBuffer::~DeviceBuffer() {
  if (data_ != nullptr) cudaFree(data_);
}

Status DeviceBuffer::reserve(size_t bytes) {
  if (data_ != nullptr && bytes <= size_) return ok_status();
  DeviceBuffer larger;
  larger.size_ = std::max<size_t>(bytes, 1);
  const auto what = fmt::format("take {} bytes of the GPU's memory", larger.size_);
  OCTET_TRY(cuda_status(cudaMalloc(&larger.data_, larger.size_), what.c_str()));
  *this = std::move(larger);
  return ok_status();
}

Status DeviceBuffer::upload(std::span<const std::byte> from, const Stream& stream) {
  return cuda_status(
      cudaMemcpyAsync(data_, from.data(), from.size(), cudaMemcpyHostToDevice, stream.get()),
      "copy an input to the GPU");
}

Status DeviceBuffer::download(std::span<std::byte> to, const Stream& stream) const {
  return cuda_status(
      cudaMemcpyAsync(to.data(), data_, to.size(), cudaMemcpyDeviceToHost, stream.get()),
      "copy an output from the GPU");
}

} // namespace octet::tensorrt
