// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/tile_function.h"

#include <vector>

#include "core/for_isa.h"

namespace octet::kernels {
namespace {

GeluCodes* gelu_of(const numerics::Program& program, Isa isa) {
  constexpr GeluCodes* kNone = nullptr;
  if (program.code.size() != 1) return nullptr;
  switch (program.code[0].op) {
#if defined(__x86_64__)
  case numerics::MapOp::kGelu:
    return for_isa<kNone, Isa::kAvx2, gelu_codes_avx2, Isa::kAvx512, gelu_codes_avx512>(isa);
  case numerics::MapOp::kGeluTanh:
    return for_isa<kNone, Isa::kAvx2, gelu_tanh_codes_avx2, Isa::kAvx512, gelu_tanh_codes_avx512>(
        isa);
#endif
  default:
    return kNone;
  }
}

} // namespace

TileFunction::TileFunction(const numerics::Program& program, Isa isa)
    : plan_(program,
            std::vector<std::vector<int64_t>>{{kTileNumbers}},
            std::vector<int64_t>{kTileNumbers}),
      isa_(isa), gelu_(gelu_of(program, isa)) {}

void TileFunction::to_floats(const float* x, int64_t count, float* y) const {
  plan_.run_tile(x, count, y, isa_);
}

void TileFunction::to_codes(const QuantizeArgs& args, float* x) const {
  if (gelu_ != nullptr && args.scale >= kLeastGeluScale && args.scale <= 1.0F / kLeastGeluScale)
    return gelu_(args);
  to_floats(x, args.count, x);
  code_kernels_of(isa_).quantize(args, 0, args.count);
}

} // namespace octet::kernels
