// SPDX-License-Identifier: Apache-2.0
// The operators of ai.onnx that ONNX Runtime runs on the CPU, by version and type.
#pragma once

#include "passes/schema_types.h"

namespace octet {

/// Where an operator has no kernel for f16, ONNX Runtime computes in f32 between casts.
const OperatorTypes& onnxruntime_cpu_kernels();

} // namespace octet
