// SPDX-License-Identifier: Apache-2.0
// Counts of a tensor's values over all that is drawn of it: they and what its codes stand for.
#pragma once

#include <vector>

#include "quant/see/tensor_view.h"

namespace octet {

struct ValueHistogram {
  double low = 0, high = 0; ///< 0 is between them
  std::vector<double> counts;
};
ValueHistogram value_histogram(const TensorView& view, size_t bins);

} // namespace octet
