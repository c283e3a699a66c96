// SPDX-License-Identifier: Apache-2.0
// The equation of Einsum: NumPy's notation with `...` and with an implicit output.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "octet/result.h"

namespace octet {

/// A letter, or -k for the k-th axis from the end under an ellipsis.
using EinsumLabels = std::vector<int>;

struct EinsumEquation {
  std::vector<EinsumLabels> inputs;
  EinsumLabels output;
};

/// For inputs of these ranks. Errors: another character, a term that does not name every axis, more
/// or fewer terms than inputs.
Result<EinsumEquation> parse_einsum(std::string equation, std::span<const int64_t> ranks);

} // namespace octet
