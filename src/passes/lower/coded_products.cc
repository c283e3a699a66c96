// SPDX-License-Identifier: Apache-2.0
#include "passes/lower/coded_products.h"

#include <algorithm>

#include "ops/op.h"
#include "passes/lower/context.h"

namespace octet::lowering {
namespace {

/// Codes around zero of the channels whose factor is below 0 are turned; false where one has no
/// opposite.
bool turn(qdq::StoredCodes& weights, int64_t axis, std::span<const double> factors) {
  const auto is_turned = [](double factor) { return factor < 0; };
  if (std::none_of(factors.begin(), factors.end(), is_turned)) return true;
  const std::vector<double> zeros = weights.grid.zeros();
  if (weights.codes.type() != DType::kInt8 ||
      std::any_of(zeros.begin(), zeros.end(), [](double z) { return z != 0; }))
    return false;
  int64_t inner = 1;
  for (int64_t d = axis + 1; d < weights.codes.rank(); ++d)
    inner *= weights.codes.dim(d);
  Tensor turned = weights.codes.clone();
  const auto codes = turned.mutable_data<int8_t>();
  for (size_t i = 0; i < codes.size(); ++i) {
    if (factors[i / static_cast<size_t>(inner) % factors.size()] >= 0) continue;
    if (codes[i] == -128) return false;
    codes[i] = static_cast<int8_t>(-codes[i]);
  }
  weights.codes = std::move(turned);
  return true;
}

} // namespace

bool moves_elements(const Node& node) {
  const Motion::Kind kind = motion_of(node).kind;
  return moves_values(node) && (kind == Motion::Kind::kView || kind == Motion::Kind::kPermute);
}

const Node* dequantizer_of(const Graph& graph, ValueId id) {
  const Node* node = graph.producer(id);
  while (node != nullptr && moves_elements(*node))
    node = graph.producer(node->input(0));
  return node != nullptr && is_dequantize(*node) ? node : nullptr;
}

std::optional<CodedProduct> coded_product(const Graph& graph, ValueId result) {
  const Node* node = result.valid() ? graph.producer(result) : nullptr;
  if (node == nullptr) return std::nullopt;
  const bool conv = node->is("Conv"), gemm = node->is("Gemm");
  if (!conv && !gemm && !node->is("MatMul")) return std::nullopt;
  const Node* dequantizer = dequantizer_of(graph, node->input(0));
  const auto x = dequantizer != nullptr ? qdq::read(graph, *dequantizer, kForKernels)
                                        : qdq::Found<qdq::Site>(qdq::WhyNot::kNotQdq);
  if (!x || graph.constant(x->codes) != nullptr) return std::nullopt;
  const auto weights = qdq::stored_site(graph, node->input(1));
  const auto shape =
      weights ? graph.value(weights->codes).type.static_shape() : std::optional<Shape>();
  const TypeInfo& y = graph.value(result).type;
  if (!shape || !y.has_rank() || std::count(shape->begin(), shape->end(), 0) > 0)
    return std::nullopt;
  if (conv ? shape->size() < 3 : shape->size() != 2) return std::nullopt;
  const bool rows = conv || (gemm && node->attr_int("transB", 0) != 0);
  return CodedProduct{node, rows ? 0 : 1, conv ? 1 : y.rank() - 1, (*shape)[rows ? 0 : 1]};
}

std::optional<qdq::StoredCodes>
scaled_channels(const qdq::StoredCodes& weights, int64_t axis, std::span<const double> factors) {
  qdq::StoredCodes out = weights;
  qdq::Grid& grid = out.grid;
  const bool one = grid.per_tensor();
  if (grid.block != 0 || (!one && grid.axis != axis) ||
      std::ssize(factors) != weights.codes.dim(axis) || !turn(out, axis, factors))
    return std::nullopt;
  std::vector<double> scales, zeros;
  for (int64_t c = 0; c < std::ssize(factors); ++c) {
    scales.push_back(grid.scale_at(c) * std::abs(factors[static_cast<size_t>(c)]));
    zeros.push_back(grid.zero_at(c));
    if (!qdq::is_usable_scale(scales.back())) return std::nullopt;
  }
  grid.scale = Tensor::from_doubles(grid.real(), {std::ssize(scales)}, scales).value();
  grid.axis = grid.axis_written = axis;
  grid = grid.with(out.codes.type(), zeros);
  return out;
}

} // namespace octet::lowering
