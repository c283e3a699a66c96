// SPDX-License-Identifier: Apache-2.0
//   x ─▶ Q(s, z, i8) ─▶ DQ ...    =>    x ─▶ Q(s, z + 128, u8) ─▶ DQ ...
#include "targets/repair/unsigned_codes.h"

#include "targets/repair/coding.h"

namespace octet {

namespace {

std::optional<Coding> as_unsigned(const Graph& graph, const Node& qdq) {
  constexpr double kSignedToUnsigned = 128;
  auto coding = coding_of(graph, qdq);
  if (!coding || coding->per_channel() || coding->codes != DType::kInt8) return std::nullopt;
  coding->codes = DType::kUint8;
  coding->zeros[0] += kSignedToUnsigned;
  return coding;
}

} // namespace

std::optional<Patch>
unsigned_codes(const Graph& graph, const Node& quantize, std::span<const Uses::Use> readers) {
  const ValueId old = quantize.output(0);
  const auto made = is_quantize(quantize) ? as_unsigned(graph, quantize) : std::nullopt;
  if (!made || graph.is_output(old) || readers.empty()) return std::nullopt;
  Patch patch(graph, "the same codes as uint8, the zero point 128 more", Exactness::kExact);
  patch.from(quantize);
  const ValueId codes = emit_quantize(patch, *made, quantize.input(0), name_of(graph, quantize));
  for (const Uses::Use& use : readers) {
    const Node& reader = graph.node(use.node);
    const bool reads = is_dequantize(reader) && use.input == 0;
    const auto read = reads ? as_unsigned(graph, reader) : std::nullopt;
    if (!read) return std::nullopt;
    patch.from(reader);
    patch.replace(reader.output(0), emit_dequantize(patch, *read, codes, name_of(graph, reader)));
  }
  return patch;
}

} // namespace octet
