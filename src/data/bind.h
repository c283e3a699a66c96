// SPDX-License-Identifier: Apache-2.0
// From the element types that people have to those that a graph takes.
#pragma once

#include <cstdint>
#include <optional>

#include "octet/dataset.h"
#include "octet/dtype.h"
#include "octet/result.h"
#include "octet/tensor.h"

namespace octet {

/// How many examples the inputs take at a time, where it is told by them and by what an example is:
/// see batch_for().
std::optional<int64_t> only_batch(const Graph& graph, const Dataset& data);

/// Floats into any float type are rounded once; everything else must keep every value.
Result<Tensor> converted(const Tensor& tensor, DType type);

} // namespace octet
