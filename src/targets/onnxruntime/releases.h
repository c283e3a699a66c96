// SPDX-License-Identifier: Apache-2.0
// The releases of ONNX Runtime, and which operators its CUDA provider runs.
#pragma once

#include <cstdint>
#include <span>

#include "targets/tables.h"

#include "octet/target.h"

namespace octet {

struct OnnxRuntimeRelease {
  int version;        ///< major * 100 + minor
  int64_t opset;      ///< the highest operator set of ai.onnx that it takes
  int64_t ir_version; ///< the highest version of the file format
};

/// From 1.15 on, oldest first.
std::span<const OnnxRuntimeRelease> onnxruntime_releases();
/// The release of a target of ONNX Runtime.
const OnnxRuntimeRelease& release_of(const TargetDef& target);
/// The first release that turns a float bias of Conv and Gemm into int32 by itself.
inline constexpr int kFloatBiasSince = 121;
/// The first release that makes MatMulNBits of a stored weight in f16, too.
inline constexpr int kStoredHalfSince = 125;
/// The first release whose Gemm stays float unless the DQ of both operands have a zero point.
inline constexpr int kGemmZeroPointSince = 128;

bool is_cuda(const TargetDef& target);
/// Whether the CUDA provider has a kernel; without one the layer runs on the CPU, between copies.
bool has_cuda_kernel(const Node& node);
/// The operators on the orders of cublasLt, which no other provider has a kernel for: without CUDA
/// the model does not load.
bool needs_cuda(const Node& node);
Result<std::vector<LayerForm>> explain_onnxruntime_cuda(const Graph& graph);

} // namespace octet
