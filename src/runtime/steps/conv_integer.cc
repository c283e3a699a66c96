// SPDX-License-Identifier: Apache-2.0
// octet.native ConvInteger on the int8 convolution, whose zero point is known only when it runs.
#include "core/format.h"
#include "runtime/kernels/iconv.h"
#include "runtime/packs.h"
#include "runtime/steps/call.h"
#include "runtime/steps/codes.h"
#include "runtime/steps/image.h"
#include "runtime/steps/product.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

struct PackedIntegerConv {
  ImageWindow window;
  std::shared_ptr<const kernels::PackedConv> weights;
};

/// Of a bound step: the columns change from run to run.
struct BoundConv {
  std::shared_ptr<const PackedIntegerConv> conv;
  std::vector<kernels::IgemmColumns> columns;
};

} // namespace

Choice prepare_conv_integer(const PrepareContext& c) {
  const auto codes = constant_codes(c, "iconv");
  if (!codes.ok()) return Choice::refuse(codes.error().message());
  const int64_t kernel[] = {codes->dim(1), codes->dim(2)}, group = c.node.attr_int("group", 1);
  auto window = window_of(c.node, kernel, codes->dim(3) * group, codes->dim(0));
  if (!window.ok()) return Choice::refuse(window.error().message());
  const DType type = c.type(0).type;
  const bool is_signed = type == DType::kInt8;
  const kernels::XRange range{is_signed, is_signed ? -128 : 0, is_signed ? 127 : 255};
  auto conv = std::make_shared<PackedIntegerConv>();
  conv->window = *std::move(window);
  conv->weights = packed(c, 1, "iconv", WindowForm{conv->window.shape, range}, [&] {
    return kernels::pack_conv(codes->data<int8_t>().data(), conv->window.shape, range, c.isa);
  });
  auto bind = [conv, type](std::span<const Operand> in, std::span<const Operand> out) {
    auto bound = std::make_shared<BoundConv>();
    bound->conv = conv;
    bound->columns = kernels::make_conv_columns(*conv->weights, {});
    kernels::IconvArgs args;
    args.shape = conv->window.on(in[0], out[0]);
    args.w = conv->weights.get();
    args.columns = bound->columns.data();
    args.epilogue.type = kernels::YType::kInt32;
    const int32_t zero = in.size() > 2 ? in[2].id : -1;
    const auto run = [args, bound, type, zero, x = in[0].id,
                      y = out[0].id](Slots slots, std::byte* shared, ParallelFor& parallel) {
      kernels::IconvArgs a = args;
      a.x_zero_point = zero_point_at(slots, zero, type);
      for (size_t g = 0; g < bound->columns.size(); ++g)
        kernels::fill_init(bound->conv->weights->groups[g], a.x_zero_point, nullptr,
                           bound->columns[g].init);
      a.shared = shared;
      a.x = at<const void>(slots, x);
      a.y = at<int32_t>(slots, y);
      kernels::iconv(a, parallel);
    };
    return call_step(kernels::shared_bytes(args), run);
  };
  return {.prepared = bind_with(std::move(bind)),
          .name = fmt::format("iconv {}", isa_name(c.isa)),
          .packed = {1}};
}

} // namespace octet::runtime
