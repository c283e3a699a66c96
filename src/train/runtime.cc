// SPDX-License-Identifier: Apache-2.0
// Process-wide settings of LibTorch. Its CUDA part is a library of its own, loaded only when asked
// for; reductions and scatters are the deterministic ones, so that a seed fixes every bit.
#include "train/runtime.h"

#include <cstdlib>
#include <limits>
#include <mutex>

#include "core/format.h"
#include "core/threads.h"
#include "train/guard.h"
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Exception.h>
#include <dlfcn.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace octet::train {
namespace {

/// Where several processes share a machine each has a device: torchrun says which. What LibTorch
/// allocates and runs without a number goes to the current one.
Status choose_cuda_device() {
  const char* text = std::getenv("LOCAL_RANK");
  if (text == nullptr) return ok_status();
  const int index = std::atoi(text);
  return guarded([&]() -> Status {
    const c10::impl::DeviceGuardImplInterface* cuda = c10::impl::getDeviceGuardImpl(c10::kCUDA);
    const int devices = cuda->deviceCount();
    if (index < 0 || index >= devices)
      return error("LOCAL_RANK is {}, LibTorch sees {} CUDA devices; start one process for each",
                   text, devices);
    cuda->setDevice(c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(index)));
    return ok_status();
  });
}

/// The library never prints; LibTorch's warnings concern its own API.
class Silence : public c10::WarningHandler {
 public:
  void process(const c10::Warning& /*warning*/) override {}
};

void load_cuda_once() {
#if OCTET_CUDA
  static std::once_flag once;
  std::call_once(once, [] {
    // cuBLAS is deterministic only with a fixed workspace, which it reads from here.
    setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0);
    dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL);
  });
#endif
}

} // namespace

bool cuda_is_there() {
  load_cuda_once();
  return at::hasCUDA();
}

c10::Device torch_device(Device device) {
  return {device == Device::kCuda ? c10::kCUDA : c10::kCPU};
}

Result<int> prepare_runtime(Device device, int threads) {
  OCTET_TRY(check_threads(threads));
  static Silence silence;
  c10::WarningUtils::set_warning_handler(&silence);
  if (device == Device::kCuda && !cuda_is_there())
    return Error(
        OCTET_CUDA ? "no CUDA device that LibTorch can use; use --device cpu"
                   : "octet was built without CUDA; use --device cpu or build with -DOCTET_CUDA=ON",
        ErrorCode::kUnsupported);
  if (device == Device::kCuda) OCTET_TRY(choose_cuda_device());
  const int count = threads > 0 ? threads : available_cores();
  at::set_num_threads(count);
  at::globalContext().setDeterministicAlgorithms(true, false);
  at::globalContext().setDeterministicFillUninitializedMemory(false);
  return count;
}

KeepFreedMemory::KeepFreedMemory() {
#ifdef __GLIBC__
  constexpr int kAsLargeAsItTakes = std::numeric_limits<int>::max();
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, kAsLargeAsItTakes);
#endif
}

KeepFreedMemory::~KeepFreedMemory() {
#ifdef __GLIBC__
  constexpr int kDefault = 128 * 1024;
  mallopt(M_TRIM_THRESHOLD, kDefault);
  malloc_trim(0);
#endif
}

} // namespace octet::train
