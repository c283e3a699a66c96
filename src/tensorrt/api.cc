// SPDX-License-Identifier: Apache-2.0
// The one C entry of liboctet_tensorrt.so. Exceptions end here.
#include <exception>

#include "core/format.h"
#include "tensorrt/trt.h"

namespace octet::tensorrt {
namespace {

template <class Work>
auto guarded(Work work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::exception& e) {
    return error(ErrorCode::kInternal, "TensorRT: {}", e.what());
  }
}

class Api final : public EngineApi {
 public:
  std::string_view octet_version() const override { return OCTET_VERSION; }

  std::string tensorrt_version() const override { return library_version(); }

  Result<BuiltEngine> build(const std::string& onnx_file,
                            const EngineBuildOptions& options) override {
    return guarded([&] { return build_engine(onnx_file, options); });
  }

  Result<std::unique_ptr<Engine>> load(std::string_view engine,
                                       const std::vector<std::string>& inputs,
                                       const std::vector<std::string>& outputs) override {
    return guarded([&] { return load_engine(engine, inputs, outputs); });
  }
};

} // namespace
} // namespace octet::tensorrt

extern "C" octet::EngineApi* octet_engine_api() {
  static octet::tensorrt::Api api;
  return &api;
}
