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

namespace {

/// The ends of the range of int8 codes that x goes beyond: those codes cut it there.
Bounds cut_off(const RepairContext& context, ValueId x, double scale) {
  Range possible = range_by_operators(context.graph, x);
  if (const Range* seen = context.range_of(x))
    possible = {std::max(possible.lo, seen->lo), std::min(possible.hi, seen->hi)};
  Bounds out;
  if (possible.lo < -128.5 * scale) out.lo = -128 * scale;
  if (possible.hi > 127.5 * scale) out.hi = 127 * scale;
  return out;
}

} // namespace

std::optional<Repair>
unify(const RepairContext& context, std::span<const SymmetricPair> pairs, const std::string& why) {
  const auto by_scale = [](const SymmetricPair& a, const SymmetricPair& b) {
    return a.coding.scales[0] < b.coding.scales[0];
  };
  const auto [low, high] = std::minmax_element(pairs.begin(), pairs.end(), by_scale);
  const double smallest = low->coding.scales[0], largest = high->coding.scales[0];
  if (smallest == largest) return std::nullopt;
  Patch patch(context.graph, why + "; what the smaller ones cut off is put back before Q",
              Exactness::kInexact);
  Repair repair{std::move(patch), (largest + smallest) / 2};
  for (const SymmetricPair& pair : pairs) {
    if (pair.coding.scales[0] == largest) continue;
    const Coding coding = int8_coding(largest, pair.coding.real);
    const ValueId x = pair.quantize->input(0);
    const std::string name = name_of(context.graph, *pair.quantize);
    const Bounds clip = cut_off(context, x, pair.coding.scales[0]);
    repair.patch.from(*pair.quantize);
    const ValueId clipped =
        emit_clip(repair.patch, context.graph, x, clip, coding.real, name + "_clip");
    const ValueId codes = emit_quantize(repair.patch, coding, clipped, name);
    for (const Node* reader : pair.readers)
      repair.patch.replace(reader->output(0), emit_dequantize(repair.patch, coding, codes,
                                                              name_of(context.graph, *reader)));
  }
  const ValueId worst = low->quantize->input(0);
  repair.probe =
      Probe{context.graph.value(worst).name, probe_graph(low->coding),
            probe_graph(int8_coding(largest, low->coding.real), cut_off(context, worst, smallest))};
  return repair;
}

} // namespace octet
