// SPDX-License-Identifier: Apache-2.0
// The content of a data set as a number, so that a run is resumed on the very examples that it
// began with.
#pragma once

#include <cstdint>

#include "octet/dataset.h"

namespace octet::train {

/// Of the batches of the first pass: texts, labels, vocabulary, length, masks and pairs all show in
/// them. Of a set beyond 256 MiB rows spread over it stand for the others. A batch that cannot be
/// read ends it: who trains on the data hears why.
uint64_t dataset_hash(const Dataset& data);

} // namespace octet::train
