// SPDX-License-Identifier: Apache-2.0
//   x ─▶ Q(s, z, i8) ─▶ DQ ─▶ MaxPool ─▶ y    =>    x ─▶ Q(s, z + 128, u8) ─▶ DQ ─▶ MaxPool ─▶ y
// ONNX Runtime moves DQ past MaxPool, Transpose, ... and fails to load what it makes of int8 codes
// there. Codes that are read or made otherwise too (a graph's input) stay int8, with Q and DQ
// behind the last operator, which give every code again. Exact. Source: docs/targets.md 8.
#include <cmath>

#include "core/format.h"
#include "graph/label.h"
#include "ops/qdq/emit.h"
#include "ops/qdq/site.h"
#include "passes/emit.h"
#include "repair/rules.h"
#include "repair/unsigned_codes.h"
#include "targets/onnxruntime/load.h"
#include "targets/onnxruntime/releases.h"

namespace octet {

namespace {

/// Whether the values of codes, coded again, are the same codes: products of normal numbers.
bool survives(const qdq::Grid& grid) {
  const double s = grid.scale_at(0);
  if (grid.real() == DType::kFloat32) return s < 1e36;
  return grid.real() == DType::kFloat16 && s >= 0x1p-14 && s <= 256;
}

std::optional<Repair>
quantize_behind(const RepairContext& context, const Node& last, const qdq::Grid& grid) {
  if (!survives(grid)) return std::nullopt;
  const Graph& graph = context.graph;
  Patch patch(graph, "int8 codes stay, coded again behind what moves them", Exactness::kExact);
  patch.from(last);
  const std::string name = name_of(graph, last);
  const ValueId x = emit_with_input(patch, last, 0, last.input(0));
  const ValueId codes = qdq::emit_quantize(patch, grid, x, name + "_quantize");
  patch.replace(last.output(0), qdq::emit_dequantize(patch, grid, codes, name + "_dequantize"));
  return Repair::exact(std::move(patch));
}

} // namespace

std::optional<Repair> unsign_moved(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  if (is_cuda(context.target)) return std::nullopt;
  const auto moved = onnxruntime_moved_int8(graph, context.uses, node);
  if (!moved) return std::nullopt;
  const auto grid = qdq::grid_of(graph, *moved->dequantize);
  if (!grid || !grid->per_tensor() || grid->codes != DType::kInt8) return std::nullopt;
  const Node* quantize = graph.producer(moved->dequantize->input(0));
  if (quantize != nullptr)
    if (auto patch = unsigned_codes(graph, *quantize, context.uses.of(quantize->output(0))))
      return Repair::exact(std::move(*patch));
  if (moved->last == nullptr) return std::nullopt; // hide_codes
  return quantize_behind(context, *moved->last, *grid);
}

} // namespace octet
