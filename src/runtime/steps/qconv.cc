// SPDX-License-Identifier: Apache-2.0
// octet.native QConv on the int8 convolution.
#include "core/format.h"
#include "runtime/kernels/iconv.h"
#include "runtime/packs.h"
#include "runtime/steps/codes.h"
#include "runtime/steps/image.h"
#include "runtime/steps/product.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

struct IntegerConv {
  ImageWindow window;
  std::shared_ptr<const kernels::PackedConv> weights;
  std::vector<kernels::IgemmColumns> columns;
  kernels::Epilogue epilogue;
  int32_t x_zero_point = 0;
};

} // namespace

Choice prepare_qconv(const PrepareContext& c) {
  const auto operands = integer_operands(c, "iconv");
  if (!operands.ok()) return Choice::refuse(operands.error().message());
  const Tensor& codes = operands->codes;
  const int64_t kernel[] = {codes.dim(1), codes.dim(2)};
  auto window = window_of(c.node, kernel, codes.dim(3) * c.node.attr_int("group", 1), codes.dim(0));
  if (!window.ok()) return Choice::refuse(window.error().message());
  const kernels::ColumnArgs columns = operands->columns(c.node);
  auto conv = std::make_shared<IntegerConv>();
  conv->window = *std::move(window);
  conv->x_zero_point = columns.x_zero_point;
  const kernels::XRange x = read_range_of(c.graph, c.node);
  conv->weights = packed(c, 1, "iconv", WindowForm{conv->window.shape, x}, [&] {
    return kernels::pack_conv(codes.data<int8_t>().data(), conv->window.shape, x, c.isa);
  });
  conv->columns = kernels::make_conv_columns(*conv->weights, columns);
  conv->epilogue = epilogue_of(c);
  auto bind = [conv](std::span<const Operand> in, std::span<const Operand> out) {
    kernels::IconvArgs args;
    args.shape = conv->window.on(in[0], out[0]);
    args.x_zero_point = conv->x_zero_point;
    args.w = conv->weights.get();
    args.columns = conv->columns.data();
    args.epilogue = conv->epilogue;
    args.epilogue.residual_stride = args.shape.out_c;
    return bind_product(conv, args, kernels::iconv, in, out);
  };
  return {.prepared = bind_with(std::move(bind)),
          .name = fmt::format("iconv {}", isa_name(c.isa)),
          .packed = {1}};
}

} // namespace octet::runtime
