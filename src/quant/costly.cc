// SPDX-License-Identifier: Apache-2.0
#include "quant/costly.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>

#include "quant/held_back.h"

namespace octet {

namespace {

struct Part {
  std::span<const std::string> nodes;
  double error;
};

} // namespace

Result<std::vector<LayerCost>>
find_costly(std::span<const std::string> nodes, size_t wanted, const ErrorOf& error_of) {
  std::vector<Part> parts;
  // A few more than to the worst and then to its neighbours.
  size_t left = 4 * static_cast<size_t>(std::bit_width(nodes.size())) + 2 * wanted;
  const auto look = [&](std::span<const std::string> some, double at_most) -> Status {
    if (some.empty() || left == 0) return ok_status();
    --left;
    const std::optional<double> error = OCTET_TRY(error_of(some));
    if (error && *error > 0)
      parts.push_back({some, *error});
    else if (!error && some.size() > 1) // its halves may be alone
      parts.push_back({some, at_most});
    return ok_status();
  };
  OCTET_TRY(look(nodes, std::numeric_limits<double>::infinity()));
  std::vector<LayerCost> out;
  while (!parts.empty() && out.size() < wanted) {
    const auto worst = std::max_element(
        parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.error < b.error; });
    const Part part = *worst;
    parts.erase(worst);
    if (part.nodes.size() == 1) {
      out.push_back({part.nodes.front(), decibels(part.error)});
      continue;
    }
    const size_t half = part.nodes.size() / 2;
    OCTET_TRY(look(part.nodes.first(half), part.error));
    OCTET_TRY(look(part.nodes.subspan(half), part.error));
  }
  return out;
}

} // namespace octet
