// SPDX-License-Identifier: Apache-2.0
// What runs on data say of a picture's values and nodes: histograms, error, saturation, times.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "quant/see/look.h"
#include "view/picture.h"

#include "octet/session.h"

namespace octet::view {

/// The values of a graph beside the codes that stand for them, as pairs for `look` with the graph
/// itself on both sides; those in float beside themselves. The graph has its types.
ModelPairs pairs_within(const Graph& graph);

/// How many weights are looked at: what takes some ten seconds.
inline constexpr int64_t kMostWeights = int64_t{1} << 31;
/// At the values: histogram, extremes, channels of the constants that nodes read, also in bodies,
/// on their codes where there are any. Each is read once, in pieces. Where more than `most` numbers
/// would be looked at, values say that they were not. The graph has its types and is that of the
/// picture.
Status look_at_constants(const Graph& graph, Picture& to, int64_t most = kMostWeights);

/// By the values' names: histogram, extremes, channels, saturation, error.
void add_views(std::span<const TensorView> views, Picture& to);
/// The same of the second of two models: views of `pairs` under the names that it has for them.
void add_views(const ModelPairs& pairs, const Looked& looked, const Graph& quantized, Picture& to);

/// `ms` of each planned node, at the node that has most to do of those that it came from.
void add_times(const std::vector<PlannedNode>& plan, std::span<const double> ms, Picture& to);

} // namespace octet::view
