// SPDX-License-Identifier: Apache-2.0
// Activations with a scale for each channel, as NNCF gives them to depthwise convolutions:
//   x ─ Q(s by channel, z)                                  =>  x ─ Div(s) ─ Q(1, z)
//   codes ─ DQ(s by channel, z) ─ Conv(DQ(w), depthwise)    =>  codes ─ DQ(1, z) ─ Conv(DQ(w) s)
// The first changes no code: a Relu or Clip before it that the codes' ends keep anyway goes too. The
// second is rounding: s is a factor of the weights' scales.
#include <algorithm>

#include "ops/qdq/clamp.h"
#include "ops/qdq/emit.h"
#include "passes/emit.h"
#include "passes/lower/chains.h"
#include "passes/lower/coded_products.h"
#include "passes/lower/context.h"

namespace octet::lowering {
namespace {

/// Byte codes of f32 with several scales along an axis and one zero point for all.
std::optional<qdq::Grid> grid_of_channels(const Graph& graph, const Node& node) {
  const auto grid = qdq::grid_of(graph, node,
                                 {.positive_scales = true,
                                  .written_zero = false,
                                  .f32_scale = true,
                                  .byte_codes = true,
                                  .known_axis = true,
                                  .lone_zero = true});
  if (!grid || grid->per_tensor() || grid->block != 0 || !grid->axis) return std::nullopt;
  const std::vector<double> zeros = grid->zeros();
  const bool one = std::all_of(zeros.begin(), zeros.end(), [&](double z) { return z == zeros[0]; });
  return one ? std::optional(*grid) : std::nullopt;
}

qdq::Grid with_scale(const qdq::Grid& grid, double scale) {
  return qdq::Grid::per_tensor_of(grid.codes, scale, grid.zero_at(0), DType::kFloat32);
}

/// What Q reads, or what each Relu or Clip before it does where the codes end no later in any
/// channel.
ValueId unclamped(const RuleContext& c, ValueId x, const qdq::Grid& grid) {
  const Node* maker = c.graph.producer(x);
  if (maker == nullptr || !c.uses.single_consumer(x).valid() || c.graph.is_output(x)) return x;
  const auto bounds = qdq::clamp_of(c.graph, *maker);
  if (!bounds) return x;
  for (int64_t k = 0; k < grid.count(); ++k)
    if (!qdq::saturation_does(with_scale(grid, grid.scale_at(k)), *bounds)) return x;
  return unclamped(c, maker->input(0), grid);
}

} // namespace

std::optional<Patch> divide_by_scales(const RuleContext& c, const Node& node) {
  if (!is_quantize(node)) return std::nullopt;
  const TypeInfo& x = c.graph.value(node.input(0)).type;
  const auto grid = grid_of_channels(c.graph, node);
  if (!grid || x.type != DType::kFloat32 || !x.has_rank()) return std::nullopt;
  Patch patch(c.graph, "the scales divide before codes are made", Exactness::kExact);
  patch.from(node);
  Shape shape(static_cast<size_t>(x.rank() - *grid->axis), 1);
  shape[0] = grid->count();
  const ValueId scales =
      patch.constant(node.name + "/scales", grid->scale.reshaped(std::move(shape)).value());
  const ValueId divided =
      patch.emit("Div", {unclamped(c, node.input(0), *grid), scales}, {}, node.name + "/divided");
  patch.replace(node.output(0),
                qdq::emit_quantize(patch, with_scale(*grid, 1), divided, node.name));
  return patch;
}

std::optional<Patch> scale_depthwise_weights(const RuleContext& c, const Node& node) {
  const Graph& g = c.graph;
  const Node* dequantize = node.is("Conv") ? g.producer(node.input(0)) : nullptr;
  if (dequantize == nullptr || !is_dequantize(*dequantize)) return std::nullopt;
  const auto grid = grid_of_channels(g, *dequantize);
  const int64_t groups = node.attr_int("group", 1);
  if (!grid || grid->axis != 1 || grid->count() != groups ||
      !g.value(node.input(0)).type.has_rank())
    return std::nullopt;
  auto weights = qdq::stored_codes(g, node.input(1));
  if (!weights || weights->codes.rank() < 3 || weights->codes.dim(1) != 1 ||
      weights->codes.dim(0) % groups != 0)
    return std::nullopt;
  const int64_t each = weights->codes.dim(0) / groups;
  std::vector<double> factors;
  for (int64_t o = 0; o < weights->codes.dim(0); ++o)
    factors.push_back(grid->scale_at(o / each));
  const auto scaled = scaled_channels(qdq::in_bytes(std::move(*weights)), 0, factors);
  if (!scaled) return std::nullopt;
  Patch patch(g, "scales of channels are factors of the weights", Exactness::kRounding);
  patch.from(node);
  const auto name = [&](const char* part) { return node.name + "/" + part; };
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] =
      qdq::emit_dequantize(patch, with_scale(*grid, 1), dequantize->input(0), name("codes"));
  inputs[1] = qdq::emit_dequantize(patch, scaled->grid,
                                   patch.constant(name("weights"), scaled->codes), name("scaled"));
  patch.replace(node.output(0), patch.emit("Conv", std::move(inputs), node.attributes, node.name));
  return patch;
}

} // namespace octet::lowering
