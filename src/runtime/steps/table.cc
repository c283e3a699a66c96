// SPDX-License-Identifier: Apache-2.0
// octet.native QTable on the table lookup. The kernel indexes by the code's bits, so a table for i8
// codes, which starts at -128, is turned by half.
#include <algorithm>
#include <array>

#include "core/format.h"
#include "core/threads.h"
#include "runtime/kernels/codes.h"
#include "runtime/steps/call.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {

Choice prepare_table(const PrepareContext& c) {
  const Tensor* table = c.constant(1);
  if (!table || table->count() != 256) return Choice::refuse("lookup: the table is not constant");
  auto codes = std::make_shared<std::array<uint8_t, 256>>();
  const size_t half = c.type(0).type == DType::kInt8 ? 128 : 0;
  for (size_t i = 0; i < 256; ++i)
    (*codes)[(i + half) % 256] = static_cast<uint8_t>(table->bytes()[i]);
  auto bind = [codes, isa = c.isa](std::span<const Operand> in, std::span<const Operand> out) {
    return call_step([codes, isa, x = in[0].id, y = out[0].id,
                      count = in[0].count()](Slots slots, ParallelFor& parallel) {
      kernels::lookup(codes->data(), at<const uint8_t>(slots, x), count, at<uint8_t>(slots, y), isa,
                      parallel);
    });
  };
  return {bind_with(std::move(bind)), fmt::format("lookup {}", isa_name(c.isa)), {}};
}

} // namespace octet::runtime
