// SPDX-License-Identifier: Apache-2.0
//   x ─▶ Q(s, z, u8 or i8) ─▶ DQ ─▶ MatMul(W) ─▶ Add(b)
//   =>   x - c ─▶ Q(s, 0, i8) ─▶ DQ ─▶ MatMul(W) ─▶ Add(b + c sum(W))         c = -s z of int8
// The same codes as int8 and the same scale, where symmetric_activation would need a wider one.
// x - c goes into the bias, the beta or the constant that made x, else it is an Add; behind DQ c
// goes into the bias of products with constant weights, and an Add carries it to all else. Where
// two activations are multiplied, c times the sums of the other one is added to the product. Not
// before a convolution that pads, and not where a value is multiplied with itself.
// An embedding table does the same behind Gather.
// Rounding: a value on a tie between two codes may take the other one.
// Source: docs/targets.md 1.1 row 12, 2.1.
#include <cmath>
#include <limits>

#include "core/format.h"
#include "graph/label.h"
#include "ops/qdq/emit.h"
#include "ops/qdq/site.h"
#include "repair/probe.h"
#include "repair/rules.h"
#include "repair/shift.h"

namespace octet {

namespace {

bool has_shift(const RepairContext& context, const qdq::Grid& grid) {
  const auto range = grid.code_range();
  return context.zero_points == ZeroPointForm::kShift && range && range->hi - range->lo == 255 &&
         grid.per_tensor() && !grid.is_symmetric() && grid.real() == DType::kFloat32;
}

/// The zero point as that of int8.
double int8_zero(const qdq::Grid& grid) {
  return grid.zero_at(0) - (grid.code_range()->lo + 128);
}

} // namespace

std::optional<Repair> shift_table(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  if (!is_dequantize(node)) return std::nullopt;
  const auto grid = qdq::grid_of(graph, node);
  const Tensor* table = grid ? graph.constant(node.input(0)) : nullptr;
  if (table == nullptr || !has_shift(context, *grid) || graph.is_output(node.output(0)))
    return std::nullopt;
  for (const Uses::Use& use : context.uses.of(node.output(0)))
    if (!graph.node(use.node).is("Gather") || use.input != 0) return std::nullopt;
  const double offset = grid->code_range()->lo + 128;
  std::vector<double> codes;
  codes.reserve(static_cast<size_t>(table->count()));
  for (int64_t i = 0; i < table->count(); ++i)
    codes.push_back(table->at(i) - offset);
  const auto stored = Tensor::from_doubles(DType::kInt8, table->shape(), codes);
  if (!stored.ok()) return std::nullopt;
  const double s = grid->scale_at(0), by = qdq::as_float(-s * int8_zero(*grid));
  Patch patch(graph,
              fmt::format("the same codes: zero point {} becomes an addition of {:.6g} to the rows "
                          "that are taken",
                          grid->zero_at(0), by),
              Exactness::kRounding);
  patch.from(node);
  const std::string name = name_of(graph, node);
  const ValueId now = qdq::emit_dequantize(patch, qdq::Grid::int8(s, grid->real()),
                                           patch.constant(name + "_codes", *stored), name);
  if (!shift_readers(patch, context, node.output(0), now, by, grid->real())) return std::nullopt;
  const double largest = s * (std::abs(int8_zero(*grid)) + 128);
  return Repair{std::move(patch), largest * std::numeric_limits<float>::epsilon()};
}

std::optional<Repair> shift_activation(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  const ValueId x = node.input(0);
  if (!is_quantize(node) || graph.constant(x) != nullptr) return std::nullopt;
  const auto grid = qdq::grid_of(graph, node);
  if (!grid || !has_shift(context, *grid) || graph.value(x).type.type != DType::kFloat32 ||
      fits_int8(context, x, *grid))
    return std::nullopt;
  const auto readers =
      qdq::dequantizers(graph, context.uses.of(node.output(0)), node.output(0), *grid);
  if (!readers) return std::nullopt;
  const double s = grid->scale_at(0), exact = -s * int8_zero(*grid), by = qdq::as_float(exact);
  Patch patch(graph,
              fmt::format("the same codes with scale {:.6g}: zero point {} becomes an addition of "
                          "{:.6g} before Q and behind DQ, in biases where there are any",
                          s, grid->zero_at(0), by),
              Exactness::kRounding);
  patch.from(node);
  const std::string name = name_of(graph, node);
  const qdq::Grid better = qdq::Grid::int8(s, grid->real());
  const ValueId shifted = emit_shifted(patch, context, x, -exact, grid->real(), name + "_shift");
  const ValueId codes = qdq::emit_quantize(patch, better, shifted, name);
  for (const Node* reader : *readers) {
    patch.from(*reader);
    const ValueId now = qdq::emit_dequantize(patch, better, codes, name_of(graph, *reader));
    if (!shift_readers(patch, context, reader->output(0), now, by, grid->real()))
      return std::nullopt;
  }
  Repair repair{std::move(patch), s};
  repair.probe = Probe{graph.value(x).name, probe_graph(*grid), probe_graph(better, {}, by)};
  return repair;
}

} // namespace octet
