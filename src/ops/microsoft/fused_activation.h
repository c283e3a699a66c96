// SPDX-License-Identifier: Apache-2.0
// The activation of FusedConv and FusedGemm (com.microsoft) as an operator of ai.onnx.
#pragma once

#include "ops/op.h"

namespace octet::ms {

struct FusedActivation {
  std::string op; ///< empty: none
  /// In the operator's own names. Of Clip: min and max, which are inputs since operator set 11.
  std::vector<std::pair<std::string, float>> parameters;
};

/// Of FusedConv with its activation_params, of FusedGemm with its activation_alpha and -beta.
/// Errors: an activation that is not known, or without its parameters.
Result<FusedActivation> fused_activation(const Node& node);

/// f(x) by the operator's reference.
Result<Tensor> activated(const FusedActivation& f, const Tensor& x);

/// The product alone, `op_type` of ai.onnx with the attributes that are its own.
Node product_of(const Node& node, std::string op_type);

} // namespace octet::ms
