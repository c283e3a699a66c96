// SPDX-License-Identifier: Apache-2.0
// octet.native Map, and the float functions of elements that are programs of one instruction or
// some, bound to shapes.
#include "runtime/kernels/map.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/format.h"
#include "passes/lower/programs.h"
#include "runtime/steps/call.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {

Choice prepare_map(const PrepareContext& c) {
  const auto mapped = lowering::mapped(c.graph, c.node, lowering::Bits::kSame);
  if (!mapped) return Choice::refuse("map: no program of f32 has its bits");
  std::vector<size_t> inputs; // of the node, by input of the program
  for (const lowering::Mapped::Input& input : mapped->inputs)
    inputs.push_back(static_cast<size_t>(
        std::find(c.node.inputs.begin(), c.node.inputs.end(), input.id) - c.node.inputs.begin()));
  auto bind = [program = mapped->program, inputs = std::move(inputs),
               isa = c.isa](std::span<const Operand> in, std::span<const Operand> out) {
    std::vector<Shape> shapes;
    std::array<int32_t, numerics::kMaxMapInputs> ids{};
    for (size_t i = 0; i < inputs.size(); ++i) {
      shapes.push_back(in[inputs[i]].shape);
      ids[i] = in[inputs[i]].id;
    }
    return call_step([plan = kernels::MapPlan(program, shapes, out[0].shape), ids,
                      count = inputs.size(), y = out[0].id,
                      isa](Slots slots, ParallelFor& parallel) {
      std::array<const float*, numerics::kMaxMapInputs> x{};
      for (size_t i = 0; i < count; ++i)
        x[i] = at<const float>(slots, ids[i]);
      plan.run(std::span(x).first(count), at<float>(slots, y), isa, parallel);
    });
  };
  return {bind_with(std::move(bind)), fmt::format("map {}", isa_name(c.isa)), {}};
}

} // namespace octet::runtime
