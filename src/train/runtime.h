// SPDX-License-Identifier: Apache-2.0
// Process-wide settings of LibTorch: threads, determinism, where its warnings go.
#pragma once

#include "octet/train.h"

namespace octet::train {

/// Sets LibTorch up for work on a device; returns the number of threads. `threads` 0 means one for
/// each core. Errors: no such device.
Result<int> prepare_runtime(Device device, int threads);

bool cuda_is_there();

} // namespace octet::train
