// SPDX-License-Identifier: Apache-2.0
// Products of two activations: exact where both are uint8, which ONNX Runtime makes of them where it
// can.
#pragma once

#include "octet/graph.h"

namespace octet {

class OnnxRuntimeCodes;

/// Whether a product of two factors behind DequantizeLinear, both computed and the second of int8
/// codes, may be one of uint8 and int8, whose pairs saturate, once ONNX Runtime has prepared the
/// file. `second`: the DequantizeLinear of the second factor.
bool may_mix_signs(const Graph& graph,
                   const OnnxRuntimeCodes& codes,
                   const Node& product,
                   const Node& second);

} // namespace octet
