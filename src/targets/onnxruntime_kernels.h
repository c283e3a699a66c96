// SPDX-License-Identifier: Apache-2.0
// The operators of ai.onnx and com.microsoft that ONNX Runtime runs on the CPU, by version and
// type.
#pragma once

#include "passes/schema_types.h"

namespace octet {

/// Where an operator has no kernel for f16, ONNX Runtime computes in f32 between casts.
const OperatorTypes& onnxruntime_cpu_kernels();

/// The kernels of com.microsoft, one a line and sorted: `QGemm C,f,0,Cc,1,3,i,1,C>Cf`. Letters and
/// positions as in passes/schema_types.h, but that a number says: of the same type as position n.
std::string_view onnxruntime_microsoft_kernels();

/// Why none of them takes a node of com.microsoft; nullopt: one does, as far as types are known.
struct MicrosoftFault {
  std::optional<TypeFault> type; ///< nullopt: there is no kernel of the operator
};
std::optional<MicrosoftFault> microsoft_kernel_fault(const Graph& graph, const Node& node);

} // namespace octet
