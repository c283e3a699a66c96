// SPDX-License-Identifier: Apache-2.0
#include "repair/unify.h"

#include <algorithm>

#include "graph/label.h"
#include "ops/qdq/emit.h"
#include "ops/qdq/site.h"
#include "ops/value_range.h"
#include "passes/emit.h"
#include "repair/probe.h"

namespace octet {

std::optional<SymmetricPair> symmetric_pair(const RepairContext& context, const Node& quantize) {
  if (!is_quantize(quantize) || context.graph.constant(quantize.input(0)) != nullptr)
    return std::nullopt;
  const auto grid = qdq::grid_of(context.graph, quantize);
  if (!grid || !grid->per_tensor() || grid->codes != DType::kInt8 || !grid->is_symmetric())
    return std::nullopt;
  auto readers = qdq::dequantizers(context.graph, context.uses.of(quantize.output(0)),
                                   quantize.output(0), *grid);
  if (!readers) return std::nullopt;
  return SymmetricPair{&quantize, std::move(*readers), *grid};
}

namespace {

/// The ends of its range of codes beyond which the values go: what a larger scale would not cut.
Bounds cut_off(const RepairContext& context, const SymmetricPair& pair, double largest) {
  const double scale = pair.grid.scale_at(0);
  if (scale == largest) return {};
  const ValueId x = pair.quantize->input(0);
  Range possible = range_of(context.graph, x);
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
    return a.grid.scale_at(0) < b.grid.scale_at(0);
  };
  const auto [low, high] = std::minmax_element(pairs.begin(), pairs.end(), by_scale);
  const double smallest = low->grid.scale_at(0), largest = high->grid.scale_at(0);
  if (smallest == largest) return std::nullopt;
  std::vector<Bounds> clips;
  for (const SymmetricPair& pair : pairs)
    clips.push_back(cut_off(context, pair, largest));
  const bool cuts =
      std::any_of(clips.begin(), clips.end(), [](const Bounds& b) { return b.lo || b.hi; });
  Patch patch(context.graph,
              cuts ? why + "; what the smaller ones cut off is put back before Q" : why,
              Exactness::kInexact);
  for (size_t i = 0; i < pairs.size(); ++i) {
    const SymmetricPair& pair = pairs[i];
    if (pair.grid.scale_at(0) == largest) continue;
    const qdq::Grid grid = qdq::Grid::int8(largest, pair.grid.real());
    const std::string name = name_of(context.graph, *pair.quantize);
    patch.from(*pair.quantize);
    const ValueId x = emit_clip(patch, context.graph, pair.quantize->input(0), clips[i],
                                grid.real(), name + "_clip");
    const ValueId codes = qdq::emit_quantize(patch, grid, x, name);
    for (const Node* reader : pair.readers)
      patch.replace(reader->output(0),
                    qdq::emit_dequantize(patch, grid, codes, name_of(context.graph, *reader)));
  }
  Repair repair{std::move(patch), (largest + smallest) / 2};
  repair.probe = Probe{context.graph.value(low->quantize->input(0)).name, probe_graph(low->grid),
                       probe_graph(qdq::Grid::int8(largest, low->grid.real()),
                                   clips[static_cast<size_t>(low - pairs.begin())])};
  return repair;
}

} // namespace octet
