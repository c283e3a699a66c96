// SPDX-License-Identifier: Apache-2.0
// Placement for ONNX Runtime's CUDA provider, by the layers that it runs in int8.
#pragma once

#include "quant/place.h"

namespace octet {

PlaceFn place_ordered;

} // namespace octet
