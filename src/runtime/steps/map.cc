// SPDX-License-Identifier: Apache-2.0
// octet.native Map, and the float functions of elements that are programs of one
// instruction or some, bound to shapes.
#include "runtime/steps/map.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/format.h"
#include "passes/lower/programs.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {

kernels::MapFormat format_of(const native::MapGrid& grid) {
  using Type = kernels::MapFormat::Type;
  Type type = Type::kFloat;
  if (grid.coded()) type = grid.type == DType::kInt8 ? Type::kInt8 : Type::kUint8;
  return {.type = type, .scale = grid.scale, .zero_point = grid.zero, .lo = grid.lo, .hi = grid.hi};
}

Choice map_step(Programmed made, Isa isa) {
  auto bind = [made = std::move(made), isa](std::span<const Operand> in,
                                            std::span<const Operand> out) {
    std::vector<Shape> shapes;
    std::array<int32_t, numerics::kMaxMapInputs> ids{};
    for (size_t i = 0; i < made.inputs.size(); ++i) {
      shapes.push_back(in[made.inputs[i]].shape);
      ids[i] = in[made.inputs[i]].id;
    }
    return call_step(
        [plan = kernels::MapPlan(made.program, shapes, out[0].shape, made.formats, made.y), ids,
         count = made.inputs.size(), y = out[0].id, isa](Slots slots, ParallelFor& parallel) {
          std::array<const void*, numerics::kMaxMapInputs> x{};
          for (size_t i = 0; i < count; ++i)
            x[i] = at<const void>(slots, ids[i]);
          plan.run(std::span(x).first(count), at<void>(slots, y), isa, parallel);
        });
  };
  return {bind_with(std::move(bind)), fmt::format("map {}", isa_name(isa)), {}};
}

Choice prepare_map(const PrepareContext& c) {
  const auto mapped = lowering::mapped(c.graph, c.node, lowering::Bits::kSame);
  if (!mapped) return Choice::refuse("map: no program of f32 has its bits");
  Programmed made{.program = mapped->program, .inputs = {}, .formats = {}, .y = {}};
  for (const lowering::Mapped::Input& input : mapped->inputs)
    made.inputs.push_back(static_cast<size_t>(
        std::find(c.node.inputs.begin(), c.node.inputs.end(), input.id) - c.node.inputs.begin()));
  return map_step(std::move(made), c.isa);
}

} // namespace octet::runtime
