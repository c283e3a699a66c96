// SPDX-License-Identifier: Apache-2.0
// From the element types that people have to those that a graph takes.
#pragma once

#include "octet/dtype.h"
#include "octet/result.h"
#include "octet/tensor.h"

namespace octet {

/// Floats into any float type are rounded once; everything else must keep every value.
Result<Tensor> converted(const Tensor& tensor, DType type);

} // namespace octet
