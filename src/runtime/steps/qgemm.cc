// SPDX-License-Identifier: Apache-2.0
// octet.native QGemm on the int8 matrix product.
#include "core/format.h"
#include "runtime/steps/codes.h"
#include "runtime/steps/product.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {

Choice prepare_qgemm(const PrepareContext& c) {
  const auto operands = integer_operands(c, "igemm");
  if (!operands.ok()) return Choice::refuse(operands.error().message());
  auto gemm = std::make_shared<const IntegerGemm>(
      pack_gemm(c, *operands, code_range_of(c.graph, c.node.input(0))));
  auto bind = [gemm](std::span<const Operand> in, std::span<const Operand> out) {
    return bind_product(gemm, gemm->args(in[0]), kernels::igemm, in, out);
  };
  return {.prepared = bind_with(std::move(bind)),
          .name = fmt::format("igemm {}", isa_name(c.isa)),
          .packed = {1}};
}

} // namespace octet::runtime
