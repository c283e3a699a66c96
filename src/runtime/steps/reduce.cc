// SPDX-License-Identifier: Apache-2.0
// The Reduce operators over axes that are known.
#include "ops/shared/reduce.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "core/format.h"
#include "core/threads.h"
#include "runtime/kernels/reduce.h"
#include "runtime/steps/call.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

struct Known {
  std::string_view name;
  kernels::Reduce op;
  int64_t axes_input_since; ///< operator set in which axes became an input
  bool of_integers;         ///< has an exact form; others are truncated
};

constexpr std::array<Known, 10> kKnown = {
    {{"ReduceSum", kernels::Reduce::kSum, 13, true},
     {"ReduceMean", kernels::Reduce::kMean, 18, false},
     {"ReduceMax", kernels::Reduce::kMax, 18, true},
     {"ReduceMin", kernels::Reduce::kMin, 18, true},
     {"ReduceProd", kernels::Reduce::kProduct, 18, true},
     {"ReduceSumSquare", kernels::Reduce::kSumSquare, 18, true},
     {"ReduceL1", kernels::Reduce::kL1, 18, true},
     {"ReduceL2", kernels::Reduce::kL2, 18, false},
     {"ReduceLogSum", kernels::Reduce::kLogSum, 18, false},
     {"ReduceLogSumExp", kernels::Reduce::kLogSumExp, 18, false}}};

const Known* known_reduction(const Node& node) {
  const auto* found = std::find_if(kKnown.begin(), kKnown.end(),
                                   [&](const Known& k) { return k.name == node.op_type; });
  return found == kKnown.end() ? nullptr : &*found;
}

/// The axes that go.
Result<std::vector<bool>> axes_of(const Node& node, bool as_input, std::span<const Operand> in) {
  std::vector<int64_t> axes;
  if (!as_input) axes = node.attr_ints("axes");
  if (as_input && in.size() > 1 && in[1].present()) {
    if (!in[1].known)
      return error(ErrorCode::kUnsupported,
                   "the axes of a reduction depend on data; run it with the reference executor");
    axes = OCTET_TRY(in[1].known->to_ints());
  }
  return reduced_axes(node, axes, std::ssize(in[0].shape));
}

template <class T>
void run_reduce(kernels::Reduce op,
                const kernels::ReducePlan& plan,
                const T* x,
                T* y,
                [[maybe_unused]] Isa isa,
                ParallelFor& parallel) {
  if constexpr (std::is_same_v<T, float>)
    kernels::reduce(op, plan, x, y, isa, parallel);
  else if constexpr (sizeof(T) == 1)
    kernels::reduce_bytes(op == kernels::Reduce::kMax ? kernels::Best::kLargest
                                                      : kernels::Best::kSmallest,
                          plan, x, y, isa, parallel);
  else
    kernels::reduce_integers(op, plan, x, y, parallel);
}

template <class T>
Choice reduce_step(const PrepareContext& c, kernels::Reduce op, bool as_input) {
  auto bind = [op, node = c.node, as_input,
               isa = c.isa](std::span<const Operand> in,
                            std::span<const Operand> out) -> Result<std::unique_ptr<Step>> {
    const auto reduced = OCTET_TRY(axes_of(node, as_input, in));
    return call_step([op, isa, plan = kernels::plan_reduce(in[0].shape, reduced), x = in[0].id,
                      y = out[0].id](Slots slots, ParallelFor& parallel) {
      run_reduce(op, plan, at<const T>(slots, x), at<T>(slots, y), isa, parallel);
    });
  };
  return {bind_with(std::move(bind)), fmt::format("reduce {}", isa_name(c.isa)), {}};
}

} // namespace

Choice prepare_reduce(const PrepareContext& c) {
  const Known* known = known_reduction(c.node);
  if (known == nullptr) return Choice::refuse("reduce: not one of its operators");
  const bool as_input = c.graph.opset("") >= known->axes_input_since;
  if (as_input && !c.known(1)) return Choice::refuse("reduce: the axes depend on data");
  const DType type = c.type(0).type;
  if (type == DType::kFloat32) return reduce_step<float>(c, known->op, as_input);
  if (type == DType::kInt32 && known->of_integers)
    return reduce_step<int32_t>(c, known->op, as_input);
  if (type == DType::kInt64 && known->of_integers)
    return reduce_step<int64_t>(c, known->op, as_input);
  if (known->op == kernels::Reduce::kMax || known->op == kernels::Reduce::kMin) {
    if (type == DType::kInt8) return reduce_step<int8_t>(c, known->op, as_input);
    if (type == DType::kUint8) return reduce_step<uint8_t>(c, known->op, as_input);
  }
  return Choice::refuse(fmt::format("reduce: no kernel for {}", name(type)));
}

} // namespace octet::runtime
