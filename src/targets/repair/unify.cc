// SPDX-License-Identifier: Apache-2.0
#include "targets/repair/unify.h"

#include <algorithm>

namespace octet {

std::optional<SymmetricPair> symmetric_pair(const RepairContext& context, const Node& quantize) {
  if (!is_quantize(quantize) || context.graph.constant(quantize.input(0)) != nullptr)
    return std::nullopt;
  const auto coding = coding_of(context.graph, quantize);
  if (!coding || coding->per_channel() || coding->codes != DType::kInt8 || !is_symmetric(*coding))
    return std::nullopt;
  auto readers = dequantizers(context, quantize.output(0), *coding);
  if (readers.empty()) return std::nullopt;
  return SymmetricPair{&quantize, std::move(readers), *coding};
}

std::optional<Repair>
unify(const RepairContext& context, std::span<const SymmetricPair> pairs, const std::string& why) {
  const auto by_scale = [](const SymmetricPair& a, const SymmetricPair& b) {
    return a.coding.scales[0] < b.coding.scales[0];
  };
  const auto [low, high] = std::minmax_element(pairs.begin(), pairs.end(), by_scale);
  const double smallest = low->coding.scales[0], largest = high->coding.scales[0];
  if (smallest == largest) return std::nullopt;
  Patch patch(context.graph, why, Exactness::kInexact);
  for (const SymmetricPair& pair : pairs) {
    if (pair.coding.scales[0] == largest) continue;
    const Coding coding = int8_coding(largest, pair.coding.real);
    patch.from(*pair.quantize);
    const ValueId codes = emit_quantize(patch, coding, pair.quantize->input(0),
                                        name_of(context.graph, *pair.quantize));
    for (const Node* reader : pair.readers)
      patch.replace(reader->output(0),
                    emit_dequantize(patch, coding, codes, name_of(context.graph, *reader)));
  }
  Repair repair{std::move(patch), 128 * (largest - smallest) + (largest + smallest) / 2};
  repair.probe = Probe{context.graph.value(low->quantize->input(0)).name, probe_graph(low->coding),
                       probe_graph(int8_coding(largest, low->coding.real))};
  return repair;
}

} // namespace octet
