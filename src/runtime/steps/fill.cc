// SPDX-License-Identifier: Apache-2.0
// OneHot, Trilu and ReverseSequence.
#include "runtime/kernels/fill.h"

#include "core/format.h"
#include "core/threads.h"
#include "runtime/kernels/scan.h"
#include "runtime/steps/call.h"
#include "runtime/steps/copies.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

class ReverseStep final : public Step {
 public:
  ReverseStep(const kernels::ReverseArgs& args, int32_t x, int32_t lengths, int32_t y)
      : args_(args), x_(x), lengths_(lengths), y_(y) {}
  Result<StepEnd> run(Slots slots, std::byte*, ParallelFor& parallel) const override {
    kernels::ReverseArgs args = args_;
    args.lengths = at<const int64_t>(slots, lengths_);
    const int64_t times = args.time_first ? args.first : args.second;
    const int64_t batch = args.time_first ? args.second : args.first;
    for (int64_t b = 0; b < batch; ++b)
      if (args.lengths[b] < 0 || args.lengths[b] > times)
        return error("a sequence is {} long but the time axis holds {}; shorten it",
                     args.lengths[b], times);
    args.x = at<const void>(slots, x_);
    args.y = at<void>(slots, y_);
    kernels::reverse_sequences(args, parallel);
    return StepEnd::kDone;
  }

 private:
  kernels::ReverseArgs args_;
  int32_t x_, lengths_, y_;
};

} // namespace

Choice prepare_one_hot(const PrepareContext& c) {
  const DType index = c.type(0).type;
  if (index != DType::kInt64 && index != DType::kInt32 && index != DType::kFloat32)
    return Choice::refuse("one_hot: indices are neither i64, i32 nor f32");
  const int64_t width = width_of(c.type(2).type);
  if (width == 0 || width > 8) return Choice::refuse("one_hot: values are not of 1 to 8 bytes");
  auto bind = [index, width, axis = c.node.attr_int("axis", -1)](std::span<const Operand> in,
                                                                 std::span<const Operand> out) {
    const kernels::Lines lines = kernels::lines_of(out[0].shape, axis);
    kernels::OneHotArgs args{.width = width,
                             .outer = lines.outer,
                             .depth = lines.size,
                             .inner = lines.inner,
                             .index_type = index};
    return call_step([args, indices = in[0].id, values = in[2].id,
                      y = out[0].id](Slots slots, ParallelFor& parallel) {
      kernels::OneHotArgs a = args;
      a.index = at<const void>(slots, indices);
      a.values = at<const void>(slots, values);
      a.y = at<void>(slots, y);
      kernels::one_hot(a, parallel);
    });
  };
  return {bind_with(std::move(bind)), "one_hot", {}};
}

Choice prepare_trilu(const PrepareContext& c) {
  if (const auto why = refuse_copy(c)) return Choice::refuse(*why);
  auto bind = [upper = c.node.attr_int("upper", 1) != 0](std::span<const Operand> in,
                                                         std::span<const Operand> out) {
    const Shape& shape = in[0].shape;
    kernels::TriangleArgs args{.width = width_of(in[0].type), .upper = upper};
    args.rows = shape[shape.size() - 2];
    args.columns = shape.back();
    for (size_t i = 0; i + 2 < shape.size(); ++i)
      args.matrices *= shape[i];
    return call_step([args, x = in[0].id, k = in.size() > 1 ? in[1].id : -1,
                      y = out[0].id](Slots slots, ParallelFor& parallel) {
      kernels::TriangleArgs a = args;
      if (k >= 0) a.k = *at<const int64_t>(slots, k);
      a.x = at<const void>(slots, x);
      a.y = at<void>(slots, y);
      kernels::triangle(a, parallel);
    });
  };
  return {bind_with(std::move(bind)), "triangle", {}};
}

Choice prepare_reverse_sequence(const PrepareContext& c) {
  if (const auto why = refuse_copy(c)) return Choice::refuse(*why);
  auto bind = [time_first = c.node.attr_int("time_axis", 0) ==
                            0](std::span<const Operand> in,
                               std::span<const Operand> out) -> Result<std::unique_ptr<Step>> {
    const Shape& shape = in[0].shape;
    kernels::ReverseArgs args{.first = shape[0],
                              .second = shape[1],
                              .run_bytes = width_of(in[0].type),
                              .time_first = time_first};
    for (size_t i = 2; i < shape.size(); ++i)
      args.run_bytes *= shape[i];
    return std::unique_ptr<Step>(
        std::make_unique<ReverseStep>(args, in[0].id, in[1].id, out[0].id));
  };
  return {bind_with(std::move(bind)), "reverse", {}};
}

} // namespace octet::runtime
