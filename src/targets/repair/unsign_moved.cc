// SPDX-License-Identifier: Apache-2.0
//   x ─▶ Q(s, z, i8) ─▶ DQ ─▶ MaxPool ─▶ y    =>    x ─▶ Q(s, z + 128, u8) ─▶ DQ ─▶ MaxPool ─▶ y
// ONNX Runtime moves DQ past MaxPool, Transpose, ... and fails to load what it makes of int8 codes
// there. Codes that are read or made otherwise too (a graph's input) stay int8, with Q and DQ
// behind the last operator, which give every code again. Exact. Source: docs/targets.md 8.
#include <cmath>

#include "core/format.h"
#include "targets/onnxruntime_load.h"
#include "targets/onnxruntime_versions.h"
#include "targets/repair/coding.h"
#include "targets/repair/rules.h"
#include "targets/repair/unsigned_codes.h"

namespace octet {

namespace {

/// Whether the values of codes, coded again, are the same codes: products of normal numbers.
bool survives(const Coding& coding) {
  const double s = coding.scales[0];
  if (coding.real == DType::kFloat32) return s < 1e36;
  return coding.real == DType::kFloat16 && s >= 0x1p-14 && s <= 256;
}

std::optional<Repair>
quantize_behind(const RepairContext& context, const Node& last, const Coding& coding) {
  if (!survives(coding)) return std::nullopt;
  const Graph& graph = context.graph;
  Patch patch(graph, "int8 codes stay, coded again behind what moves them", Exactness::kExact);
  patch.from(last);
  const std::string name = name_of(graph, last);
  const ValueId x = emit_with_input(patch, last, 0, last.input(0));
  const ValueId codes = emit_quantize(patch, coding, x, name + "_quantize");
  patch.replace(last.output(0), emit_dequantize(patch, coding, codes, name + "_dequantize"));
  return Repair::exact(std::move(patch));
}

} // namespace

std::optional<Repair> unsign_moved(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  if (is_cuda(context.target)) return std::nullopt;
  const auto moved = onnxruntime_moved_int8(graph, context.uses, node);
  const auto coding = moved ? coding_of(graph, *moved->dequantize) : std::nullopt;
  if (!coding || coding->per_channel() || coding->codes != DType::kInt8) return std::nullopt;
  const Node* quantize = graph.producer(moved->dequantize->input(0));
  if (quantize != nullptr)
    if (auto patch = unsigned_codes(graph, *quantize, context.uses.of(quantize->output(0))))
      return Repair::exact(std::move(*patch));
  return quantize_behind(context, *moved->last, *coding);
}

} // namespace octet
