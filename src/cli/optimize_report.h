// SPDX-License-Identifier: Apache-2.0
// What a search found, as JSON, as text and as a page.
#pragma once

#include <string>

#include "cli/optimize_data.h"
#include "quant/search/search.h"

namespace octet::cli {

struct OptimizeSummary {
  const SearchResult& result;
  const OptimizeData& data;
  Bar bar;
  Goal goal;
  CostBy costs;
  std::string target, output;
  std::string machine; ///< where times were measured
  int64_t resumed = 0; ///< lines of the journal that were there
};

std::string optimize_json(const OptimizeSummary& summary);
std::string optimize_text(const OptimizeSummary& summary);
/// `origin`: page_origin().
std::string optimize_page(const OptimizeSummary& summary, const std::string& origin);

} // namespace octet::cli
