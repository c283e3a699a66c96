// SPDX-License-Identifier: Apache-2.0
// Process-wide settings of LibTorch: threads, determinism, where its warnings go.
#pragma once

#include <c10/core/Device.h>

#include "octet/train.h"

namespace octet::train {

/// Sets LibTorch up for work on a device; returns the number of threads. `threads` 0 means one for
/// each core. Errors: no such device.
Result<int> prepare_runtime(Device device, int threads);

bool cuda_is_there();

/// Of several CUDA devices the current one.
c10::Device torch_device(Device device);

/// While it lives, and for glibc alone: what is freed stays with the process, so that the next step
/// finds its pages in place. A step of BERT mini took 31,000 page faults otherwise, an eighth of
/// its time. Afterwards the memory goes back; that large blocks are then cut from the heap too
/// stays.
class KeepFreedMemory {
 public:
  KeepFreedMemory();
  ~KeepFreedMemory();
  KeepFreedMemory(const KeepFreedMemory&) = delete;
  KeepFreedMemory& operator=(const KeepFreedMemory&) = delete;
};

} // namespace octet::train
