// SPDX-License-Identifier: Apache-2.0
// octet.native Softmax, LayerNormalization and GroupNormalization.
#include "runtime/kernels/rows.h"

#include <array>

#include "core/format.h"
#include "core/threads.h"
#include "ops/native/layer_normalization.h"
#include "runtime/kernels/group_norm_last.h"
#include "runtime/kernels/scan.h"
#include "runtime/steps/call.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

int64_t last(const Operand& o) {
  return o.shape.empty() ? 1 : o.shape.back();
}

} // namespace

Choice prepare_softmax(const PrepareContext& c) {
  auto bind = [isa = c.isa, axis = c.node.attr_int("axis", -1)](std::span<const Operand> in,
                                                                std::span<const Operand> out) {
    const kernels::Lines l = kernels::lines_of(in[0].shape, axis);
    return call_step([isa, l, x = in[0].id, y = out[0].id](Slots slots, ParallelFor& parallel) {
      const float* from = at<const float>(slots, x);
      float* to = at<float>(slots, y);
      if (l.inner == 1)
        kernels::softmax(from, l.size == 0 ? 0 : l.outer, l.size, to, isa, parallel);
      else
        kernels::softmax_lines(from, l.size == 0 ? 0 : l.outer, l.size, l.inner, to, isa, parallel);
    });
  };
  return {bind_with(std::move(bind)), fmt::format("softmax {}", isa_name(c.isa)), {}};
}

Choice prepare_layer_norm(const PrepareContext& c) {
  const auto parsed = native::parse_layer_norm(c.node);
  if (!parsed.ok()) return Choice::refuse(parsed.error().message());
  static_assert(native::LayerNormOutputs::kMaxCodes <= kernels::LayerNormArgs::kMaxCodes);
  const float epsilon = c.node.attr_float("epsilon", 1e-5F);
  auto bind = [epsilon, outputs = *parsed, isa = c.isa](std::span<const Operand> in,
                                                        std::span<const Operand> out) {
    kernels::LayerNormArgs args;
    args.length = last(in[0]);
    args.rows = args.length ? in[0].count() / args.length : 0;
    args.epsilon = epsilon;
    std::array<int32_t, 4> from = {-1, -1, -1, -1};
    for (size_t i = 0; i < in.size(); ++i)
      from[i] = in[i].id;
    size_t next = 0;
    const int32_t y = outputs.floats ? out[next++].id : -1;
    const int32_t sum = outputs.sum ? out[next++].id : -1;
    std::array<int32_t, kernels::LayerNormArgs::kMaxCodes> codes{};
    for (const native::LayerNormOutputs::Codes& each : outputs.codes) {
      const auto k = static_cast<size_t>(args.code_count++);
      args.codes[k] = {each.scale, each.zero, each.to == DType::kInt8, nullptr};
      codes[k] = out[next++].id;
    }
    return call_step([args, isa, from, y, sum, codes](Slots slots, ParallelFor& parallel) {
      const auto floats = [&](int32_t id) { return id < 0 ? nullptr : at<float>(slots, id); };
      kernels::LayerNormArgs a = args;
      a.x = floats(from[0]);
      a.gain = floats(from[1]);
      a.bias = floats(from[2]);
      a.residual = floats(from[3]);
      a.y = floats(y);
      a.sum = floats(sum);
      for (size_t k = 0; k < static_cast<size_t>(a.code_count); ++k)
        a.codes[k].y = at<void>(slots, codes[k]);
      kernels::layer_norm(a, isa, parallel);
    });
  };
  return {bind_with(std::move(bind)), fmt::format("layer_norm {}", isa_name(c.isa)), {}};
}

namespace {

/// The step of either form of the norm, whose operands and epsilon are the same.
template <typename Args>
Result<std::unique_ptr<Step>> group_norm_step(const Node& node,
                                              Isa isa,
                                              std::span<const Operand> in,
                                              std::span<const Operand> out,
                                              Args args,
                                              void (*run)(const Args&, Isa, ParallelFor&)) {
  args.epsilon = node.attr_float("epsilon", 1e-5F);
  return call_step([args, run, isa, x = in[0].id, gain = in[1].id, bias = in[2].id,
                    y = out[0].id](Slots slots, ParallelFor& parallel) {
    Args a = args;
    a.x = at<const float>(slots, x);
    a.gain = at<const float>(slots, gain);
    a.bias = at<const float>(slots, bias);
    a.y = at<float>(slots, y);
    run(a, isa, parallel);
  });
}

} // namespace

Choice prepare_group_norm(const PrepareContext& c) {
  auto bind = [node = c.node,
               isa = c.isa](std::span<const Operand> in,
                            std::span<const Operand> out) -> Result<std::unique_ptr<Step>> {
    const Shape& shape = in[0].shape;
    const bool last = node.attr_int("channels_last", 0) != 0;
    const int64_t all = last ? shape.back() : shape[1], stated = node.attr_int("groups", 0);
    const int64_t groups = stated == 0 ? all : stated, channels = groups == 0 ? 0 : all / groups;
    if (last) {
      kernels::GroupNormLastArgs args;
      args.images = shape[0];
      args.pixels = product(shape, 1, shape.size() - 1);
      args.groups = groups;
      args.channels = channels;
      return group_norm_step(node, isa, in, out, args, kernels::group_norm_last);
    }
    kernels::GroupNormArgs args;
    args.plane = product(shape, 2, shape.size());
    args.groups = groups;
    args.channels = channels;
    args.rows = channels * args.plane == 0 ? 0 : shape[0] * groups;
    return group_norm_step(node, isa, in, out, args, kernels::group_norm);
  };
  return {bind_with(std::move(bind)), fmt::format("group_norm {}", isa_name(c.isa)), {}};
}

} // namespace octet::runtime
