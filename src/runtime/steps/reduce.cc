// SPDX-License-Identifier: Apache-2.0
// ReduceSum, ReduceMean, ReduceMax and ReduceMin over axes that are known.
#include "ops/shared/reduce.h"

#include "core/format.h"
#include "core/threads.h"
#include "runtime/kernels/reduce.h"
#include "runtime/steps/call.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

std::optional<kernels::Reduce> reduce_of(const Node& node) {
  if (node.op_type == "ReduceSum") return kernels::Reduce::kSum;
  if (node.op_type == "ReduceMean") return kernels::Reduce::kMean;
  if (node.op_type == "ReduceMax") return kernels::Reduce::kMax;
  if (node.op_type == "ReduceMin") return kernels::Reduce::kMin;
  return std::nullopt;
}

} // namespace

Choice prepare_reduce(const PrepareContext& c) {
  const auto op = reduce_of(c.node);
  if (!op || c.type(0).type != DType::kFloat32) return Choice::refuse("reduce: not of type f32");
  const bool as_input = c.graph.opset("") >= (*op == kernels::Reduce::kSum ? 13 : 18);
  if (as_input && !c.known(1)) return Choice::refuse("reduce: the axes depend on data");
  auto bind = [op = *op, node = c.node,
               as_input](std::span<const Operand> in,
                         std::span<const Operand> out) -> Result<std::unique_ptr<Step>> {
    std::vector<int64_t> axes;
    if (!as_input) axes = node.attr_ints("axes");
    if (as_input && in.size() > 1 && in[1].present()) {
      if (!in[1].known)
        return error(ErrorCode::kUnsupported,
                     "the axes of a reduction depend on data; run it with the reference executor");
      axes = OCTET_TRY(in[1].known->to_ints());
    }
    const auto reduced = OCTET_TRY(reduced_axes(node, axes, std::ssize(in[0].shape)));
    return call_step([op, plan = kernels::plan_reduce(in[0].shape, reduced), x = in[0].id,
                      y = out[0].id](Slots slots, ParallelFor& parallel) {
      kernels::reduce(op, plan, at<const float>(slots, x), at<float>(slots, y), parallel);
    });
  };
  return {bind_with(std::move(bind)), "reduce", {}};
}

} // namespace octet::runtime
