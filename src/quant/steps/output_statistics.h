// SPDX-License-Identifier: Apache-2.0
// Statistics of what single nodes make, in a graph that has them by the names of the fitted one.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/format.h"
#include "graph/node_names.h"
#include "quant/calibrate.h"
#include "quant/steps/step.h"

namespace octet {

/// make(site), a statistic, for each site's node over the calibration data. Errors: a node that the
/// graph does not have.
template <class Site, class Make>
auto observe_outputs(const Fitting& f, const Graph& graph, std::span<const Site> sites, Make make)
    -> Result<std::vector<decltype(make(sites.front()))>> {
  std::vector<decltype(make(sites.front()))> seen;
  seen.reserve(sites.size());
  std::vector<StatisticRequest> requests;
  const NodeNames nodes(graph);
  for (const Site& site : sites) {
    const std::string& name = f.graph.node(site.node).name;
    const auto id = nodes.find(name);
    if (!id) return error("the quantized graph has no node \"{}\"", name);
    seen.push_back(make(site));
    requests.push_back({graph.node(*id).output(0), &seen.back()});
  }
  OCTET_TRY(collect(graph, requests, OCTET_TRY(f.open()), f.options, f.samples));
  return seen;
}

} // namespace octet
