// SPDX-License-Identifier: Apache-2.0
// The content of a data set as a number: whether a run is resumed on the very examples that it began
// with, and which ones a model was calibrated on.
#pragma once

#include <cstdint>

#include "octet/dataset.h"

namespace octet {

/// Of the batches of the first pass: texts, labels, vocabulary, length, masks and pairs all show in
/// them. Of `samples` above 0 examples alone, spread evenly as calibration takes them (batches_of).
/// Beyond 256 MiB some of the rows stand for the others. A batch that cannot be read ends it: who
/// computes on the data hears why.
uint64_t dataset_hash(const Dataset& data, int64_t samples = 0);

} // namespace octet
