// SPDX-License-Identifier: Apache-2.0
//   x ─▶ Q(s, z, i8) ─▶ DQ ...    =>    x ─▶ Q(s, z + 128, u8) ─▶ DQ ...
#include "repair/unsigned_codes.h"

#include "graph/label.h"
#include "ops/qdq/emit.h"
#include "ops/qdq/site.h"

namespace octet {

namespace {

std::optional<qdq::Grid> as_unsigned(const Graph& graph, const Node& node) {
  constexpr double kSignedToUnsigned = 128;
  const auto grid = qdq::grid_of(graph, node);
  if (!grid || !grid->per_tensor() || grid->codes != DType::kInt8) return std::nullopt;
  return grid->with(DType::kUint8, {grid->zero_at(0) + kSignedToUnsigned});
}

} // namespace

std::optional<Patch>
unsigned_codes(const Graph& graph, const Node& quantize, std::span<const Uses::Use> readers) {
  const ValueId old = quantize.output(0);
  const auto made = is_quantize(quantize) ? as_unsigned(graph, quantize) : std::nullopt;
  if (!made || graph.is_output(old) || readers.empty()) return std::nullopt;
  Patch patch(graph, "the same codes as uint8, the zero point 128 more", Exactness::kExact);
  patch.from(quantize);
  const ValueId codes =
      qdq::emit_quantize(patch, *made, quantize.input(0), name_of(graph, quantize));
  for (const Uses::Use& use : readers) {
    const Node& reader = graph.node(use.node);
    const bool reads = is_dequantize(reader) && use.input == 0;
    const auto read = reads ? as_unsigned(graph, reader) : std::nullopt;
    if (!read) return std::nullopt;
    patch.from(reader);
    patch.replace(reader.output(0),
                  qdq::emit_dequantize(patch, *read, codes, name_of(graph, reader)));
  }
  return patch;
}

} // namespace octet
