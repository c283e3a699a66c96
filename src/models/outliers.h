// SPDX-License-Identifier: Apache-2.0
// Outlier channels of activations in a network that computes the same: what large encoders grow by
// themselves (Dettmers et al., arXiv:2208.07339), put into a small one for experiments.
#pragma once

#include <cstdint>

#include "octet/graph.h"

namespace octet {

/// Makes the last `channels` of the value and of the feed-forward activation of each layer `factor`
/// times as large, and the weights that read them as much smaller: linear maps and Relu pass a
/// factor on. A power of two changes no bit of what a float executor computes. Errors: a graph that
/// is no BERT with Relu from make_bert, a factor that is not above 0, more channels than there are.
Result<Graph> with_outlier_channels(Graph bert, int64_t channels, float factor);

} // namespace octet
