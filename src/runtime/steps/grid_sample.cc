// SPDX-License-Identifier: Apache-2.0
// GridSample of images with two axes; volumes run by reference.
#include "runtime/kernels/grid_sample.h"

#include "core/format.h"
#include "core/threads.h"
#include "runtime/steps/call.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {

Choice prepare_grid_sample(const PrepareContext& c) {
  const TypeInfo& x = c.type(0);
  if (x.type != DType::kFloat32 || c.type(1).type != DType::kFloat32)
    return Choice::refuse("grid_sample: not of type f32");
  if (!x.has_rank() || x.rank() != 4) return Choice::refuse("grid_sample: not of two axes");
  const auto attrs = parse_grid_sample(c.node);
  if (!attrs.ok()) return Choice::refuse(attrs.error().message());
  auto bind = [attrs = *attrs, isa = c.isa](std::span<const Operand> in,
                                            std::span<const Operand> out) {
    const Shape &image = in[0].shape, &y = out[0].shape;
    const kernels::GridSampleArgs args{.attrs = attrs,
                                       .batch = y[0],
                                       .channels = y[1],
                                       .rows = image[2],
                                       .columns = image[3],
                                       .points = y[2] * y[3]};
    return call_step([args, isa, x = in[0].id, grid = in[1].id,
                      y = out[0].id](Slots slots, ParallelFor& parallel) {
      kernels::grid_sample(args, at<const float>(slots, x), at<const float>(slots, grid),
                           at<float>(slots, y), isa, parallel);
    });
  };
  return {bind_with(std::move(bind)), fmt::format("grid_sample {}", isa_name(c.isa)), {}};
}

} // namespace octet::runtime
