// SPDX-License-Identifier: Apache-2.0
// Small floats that ONNX has no type for, as arithmetic on f32 numbers: what a network would compute
// with them, for experiments.
#pragma once

#include "core/codec.h"

#include "octet/graph.h"

namespace octet {

/// Formats that take the place of others; null: those of the graph stay.
struct SimulatedFormats {
  const FloatFormat* weights = nullptr;
  const FloatFormat* activations = nullptr;
};

/// Each QuantizeLinear to a float format with its DequantizeLinear becomes Div, a clamp, rounding
/// by additions and Mul. The largest number stays: scales become s * largest code / largest code of
/// `formats`. A pair on a constant (WeightStorage::kFloat) is a weight's. Every number that comes
/// out is exactly DQ(Q(x)) of the format, half to even, saturating (Veltkamp's splitting, Dekker
/// 1971, above the smallest normal number, an addition that leaves its multiples below); NaN stays
/// NaN. Errors: a format of more than 11 bits of mantissa, codes that are no constant's and have no
/// QuantizeLinear, scales that are no constants, blocks.
Result<Graph> simulate_formats(Graph graph, const SimulatedFormats& formats);

} // namespace octet
