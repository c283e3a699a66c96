// SPDX-License-Identifier: Apache-2.0
// octet.native Positions: where each row stands in its sequence.
#include <numeric>

#include "ops/native/segments.h"
#include "runtime/steps/call.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

class PositionsStep final : public Step {
 public:
  PositionsStep(const Operand& offsets, const Operand& y)
      : offsets_(offsets.id), y_(y.id), count_(static_cast<size_t>(offsets.count())),
        rows_(y.count()) {}

  Result<StepEnd>
  run(Slots slots, std::byte* /*shared*/, ParallelFor& /*parallel*/) const override {
    const auto offsets = std::span(at<const int64_t>(slots, offsets_), count_);
    OCTET_TRY(native::check_offsets(offsets, rows_));
    auto* y = at<int64_t>(slots, y_);
    for (size_t i = 1; i < offsets.size(); ++i)
      std::iota(y + offsets[i - 1], y + offsets[i], int64_t{0});
    return StepEnd::kDone;
  }

 private:
  int32_t offsets_;
  int32_t y_;
  size_t count_;
  int64_t rows_;
};

} // namespace

Choice prepare_positions(const PrepareContext& c) {
  if (!c.type(0).has_rank() || !c.type(1).has_rank())
    return Choice::refuse("positions: a rank is not known");
  auto bind = [](std::span<const Operand> in,
                 std::span<const Operand> out) -> Result<std::unique_ptr<Step>> {
    return std::unique_ptr<Step>(std::make_unique<PositionsStep>(in[0], out[0]));
  };
  return {bind_with(std::move(bind)), "positions", {}};
}

} // namespace octet::runtime
