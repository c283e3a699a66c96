// SPDX-License-Identifier: Apache-2.0
// Products that read one value together: what steps that change the value must agree on.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "quant/calibrate.h"
#include "quant/steps/channel_constants.h"
#include "quant/steps/step.h"

namespace octet {

struct SharedInput {
  std::vector<ChannelConstant> consumers; ///< their weights along the value's channels
  int64_t axis = -1, channels = 0;        ///< of the value
};

/// Errors: a product that does not read x at input 0, or whose weights have no such channels as
/// those of the others.
Result<SharedInput>
shared_input(const SteppedGraph& stepped, ValueId x, const std::vector<NodeId>& products);

/// The products that a step names as consumers. Errors: an unknown node, weights that are not its
/// input 1.
Result<std::vector<NodeId>> consumer_nodes(const SteppedGraph& stepped,
                                           std::span<const InputOf> consumers);

/// Values that quantized products with weights of their own read through codes, with those.
Result<std::map<ValueId, std::vector<NodeId>>> products_by_input(const Fitting& fitting);

/// Shows each candidate's statistic what its `value` is over the calibration data.
template <class Candidate, class Seen>
Status observe_each(const Fitting& f, std::vector<Candidate>& all, Seen Candidate::*seen) {
  std::vector<StatisticRequest> requests;
  requests.reserve(all.size());
  for (Candidate& candidate : all)
    requests.push_back({candidate.value, &(candidate.*seen)});
  if (requests.empty()) return ok_status();
  return collect(f.graph, requests, OCTET_TRY(f.open()), f.options, f.samples);
}

} // namespace octet
