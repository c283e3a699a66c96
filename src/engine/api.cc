// SPDX-License-Identifier: Apache-2.0
// Loads liboctet_tensorrt.so and hands out its one object; what an engine's inputs take.
#include <limits>
#include <mutex>

#include "core/component.h"
#include "core/format.h"

#include "octet/engine.h"

namespace octet {

Result<EngineApi*> engine_api() {
  static std::mutex mutex;
  static EngineApi* loaded = nullptr;
  const std::lock_guard lock(mutex);
  if (loaded == nullptr)
    loaded = OCTET_TRY_WITH(
        open_component<EngineApi>({"liboctet_tensorrt.so", "octet_engine_api", "TensorRT",
                                   "build it with TENSORRT_ROOT=DIR make build, DIR being "
                                   "TensorRT's folder with include/ "
                                   "and lib/",
                                   "put the lib folders of TensorRT and CUDA on LD_LIBRARY_PATH"}),
        "engine");
  return loaded;
}

Result<Tensor> as_engine_input(const Tensor& tensor, const EnginePort& port) {
  if (tensor.type() == port.type) return tensor;
  if (tensor.type() != DType::kInt64 || port.type != DType::kInt32)
    return error("the engine's input \"{}\" is {} and the tensor {}; build the engine from this "
                 "model",
                 port.name, name(port.type), name(tensor.type()));
  const Tensor aligned = tensor.aligned();
  Tensor out = OCTET_TRY(Tensor::zeros(DType::kInt32, tensor.shape()));
  const std::span<int32_t> narrow = out.mutable_data<int32_t>();
  const std::span<const int64_t> wide = aligned.data<int64_t>();
  for (size_t i = 0; i < wide.size(); ++i) {
    if (wide[i] < std::numeric_limits<int32_t>::min() ||
        wide[i] > std::numeric_limits<int32_t>::max())
      return error("the engine's input \"{}\" takes 32-bit integers and gets {}", port.name,
                   wide[i]);
    narrow[i] = static_cast<int32_t>(wide[i]);
  }
  return out;
}

} // namespace octet
