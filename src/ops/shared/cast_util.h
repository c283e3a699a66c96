// SPDX-License-Identifier: Apache-2.0
// Conversion between any two element types by the rules of ONNX Cast.
#pragma once

#include <optional>
#include <vector>

#include "ops/op.h"

#include "octet/graph.h"

namespace octet {

struct CastOptions {
  bool saturate = true;          ///< types of at most 8 bits with a float format
  std::string round_mode = "up"; ///< into f8e8m0: up, down or nearest
};

Result<CastOptions> parse_cast_options(const Node& node);

/// What is known of a shape computation's elements behind a cast: nothing where one may not fit.
std::optional<std::vector<Dim>> cast_dims(const InputInfo& x, DType to);

/// Floating to integer drops the fraction; what does not fit then saturates, but in types of fewer
/// than 8 bits keeps its low bits, as ONNX's tests do. Integer to integer keeps the low bits,
/// anything but zero is true, strings hold decimal numbers. Errors: a string that is no number,
/// complex types.
Result<Tensor> cast(const Tensor& x, DType to, const CastOptions& options = {});

} // namespace octet
