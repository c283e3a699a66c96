// SPDX-License-Identifier: Apache-2.0
// What two explanations have in common, and what changed between them.
#include <map>

#include "octet/target.h"

namespace octet {

double share_in(const std::vector<LayerForm>& layers, std::string_view precision) {
  double all = 0, part = 0;
  for (const LayerForm& layer : layers) {
    all += static_cast<double>(layer.work);
    if (layer.precision == precision) part += static_cast<double>(layer.work);
  }
  return all > 0 ? part / all : 0;
}

std::vector<LayerChange> diff(const std::vector<LayerForm>& before,
                              const std::vector<LayerForm>& after) {
  const auto runs_as = [](const LayerForm& l) {
    return l.form + " (" + l.precision + (l.fusion.empty() ? "" : ", with " + l.fusion) + ")";
  };
  std::map<std::string_view, const LayerForm*> old;
  for (const LayerForm& layer : before)
    old.emplace(layer.node, &layer);
  std::vector<LayerChange> out;
  for (const LayerForm& layer : after) {
    const auto found = old.find(layer.node);
    const std::string was = found == old.end() ? "" : runs_as(*found->second);
    if (found != old.end()) old.erase(found);
    if (was != runs_as(layer))
      out.push_back({layer.node, layer.op, was, runs_as(layer), layer.why});
  }
  for (const LayerForm& layer : before)
    if (const auto left = old.find(layer.node); left != old.end() && left->second == &layer)
      out.push_back({layer.node, layer.op, runs_as(layer), "", ""});
  return out;
}

} // namespace octet
