// SPDX-License-Identifier: Apache-2.0
// Range over integers whose bounds are known when shapes are: made once, copied by every run.
#include <cstring>

#include "core/format.h"
#include "ops/op.h"
#include "runtime/steps/call.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {

Choice prepare_range(const PrepareContext& c) {
  const DType type = c.type(0).type;
  if (type != DType::kInt64 && type != DType::kInt32)
    return Choice::refuse("range: neither i64 nor i32");
  for (size_t i = 0; i < 3; ++i)
    if (!c.known(i)) return Choice::refuse("range: the bounds depend on data");
  auto bind = [node = c.node, version = c.graph.opset("")](
                  std::span<const Operand> in,
                  std::span<const Operand> out) -> Result<std::unique_ptr<Step>> {
    EvalContext context{.node = node, .version = version, .inputs = {}, .run_body = {}, .seed = 0};
    for (const Operand& o : in) {
      if (!o.known)
        return error(ErrorCode::kUnsupported,
                     "the bounds of a range depend on data; run it with the reference executor");
      context.inputs.push_back(o.known->aligned());
    }
    std::vector<Tensor> made = OCTET_TRY(find_op("", "Range")->eval.fn(context));
    if (made.empty() || made[0].shape() != out[0].shape)
      return error(ErrorCode::kInternal, "a range of another length than was planned");
    return call_step([values = made[0].aligned(), y = out[0].id](Slots slots, ParallelFor&) {
      const auto bytes = values.bytes();
      if (!bytes.empty()) std::memcpy(slots[static_cast<size_t>(y)], bytes.data(), bytes.size());
    });
  };
  return {bind_with(std::move(bind)), "range", {}};
}

} // namespace octet::runtime
