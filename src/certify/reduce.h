// SPDX-License-Identifier: Apache-2.0
// Coarser weights for products that can saturate.
#pragma once

#include <vector>

#include "certify/products.h"

namespace octet {

/// The graph with coarser weights in the output channels of these products that can saturate, each
/// by the least factor that prevents it; one scale has one factor. Products that read one
/// DequantizeLinear in the same way go on sharing it, with factors that serve them all; who else
/// reads it keeps the weights as they were. Errors: see Certification::reduced.
Result<Graph> with_coarser_weights(const Graph& graph,
                                   const std::vector<const StoredProduct*>& products);

} // namespace octet
