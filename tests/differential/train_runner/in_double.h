// SPDX-License-Identifier: Apache-2.0
// A graph of float as one of double, so that differences have digits.
#pragma once

#include "octet/graph.h"

namespace octet::differential {

/// Inputs, constants and what follows from them, with the same ids; Constant nodes become constants.
/// Errors: nodes whose gradient is no limit of differences (codes, drawn numbers) or that have bodies.
Result<Graph> in_double(const Graph& graph);

/// Whether numbers become codes or codes numbers.
bool has_codes(const Graph& graph);

/// An f16, bf16 or f32 tensor as f64; others as they are.
Tensor in_double(const Tensor& tensor);

} // namespace octet::differential
