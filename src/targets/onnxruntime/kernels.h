// SPDX-License-Identifier: Apache-2.0
// The operators of ai.onnx and com.microsoft that ONNX Runtime runs on the CPU, by version and
// type.
#pragma once

#include <span>

#include "ops/schema_types.h"

namespace octet {

/// Where an operator has no kernel for f16, ONNX Runtime computes in f32 between casts.
const OperatorTypes& onnxruntime_cpu_kernels();

/// The kernels of com.microsoft, one a line and sorted: `QGemm C,f,0,Cc,1,3,i,1,C>Cf`. Letters and
/// positions as in ops/schema_types.h, but that a number says: of the same type as position n.
std::string_view onnxruntime_microsoft_kernels();

/// The same of ai.onnx, for those operators whose types depend on each other; the operator set from
/// which on a line counts stands behind the name: `QLinearMatMul 21 C,f,0,Cc,1,3,1,C>7`.
std::string_view onnxruntime_joint_kernels();

/// Why no kernel of these tables takes a node; nullopt: one does, as far as types are known, or the
/// operator is one of ai.onnx that is not in them.
struct KernelFault {
  std::optional<TypeFault> type; ///< nullopt: there is no kernel of the operator
};
std::optional<KernelFault> joint_kernel_fault(const Graph& graph, const Node& node);
/// Whether one takes these types, of which kUndefined stands for what is omitted or not known.
bool has_joint_kernel(std::string_view op_type,
                      std::string_view domain,
                      int64_t version,
                      std::span<const DType> inputs,
                      DType output);

/// Whether the kernel of a ScatterElements or ScatterND has its reduction for the type; true of
/// every other operator, and where the type is not known.
bool onnxruntime_reduces(const Node& node, DType type);

} // namespace octet
