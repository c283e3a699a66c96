// SPDX-License-Identifier: Apache-2.0
// Which layers' codes cost a network's outputs most.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "octet/quantize.h"

namespace octet {

/// The error of the outputs, noise over power, with nothing but these nodes in codes; nullopt: they
/// cannot be in codes without others.
using ErrorOf = std::function<Result<std::optional<double>>(std::span<const std::string>)>;

/// The nodes whose codes alone cost most, the worst first, `wanted` of them at most. Halves of the
/// list are measured, then the halves of the part with the largest error that is known, and so on:
/// each takes about 2 log2(nodes) runs of `error_of`, instead of one for each node.
Result<std::vector<LayerCost>>
find_costly(std::span<const std::string> nodes, size_t wanted, const ErrorOf& error_of);

} // namespace octet
