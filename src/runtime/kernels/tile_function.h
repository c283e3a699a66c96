// SPDX-License-Identifier: Apache-2.0
// A function of numbers behind a product: a program of core/numerics on a tile of sums that became
// floats and still lie in the first cache, and Q on what it gives. Bit for bit Program::eval, then
// numerics::quantize.
#pragma once

#include <cstdint>

#include "core/cpu.h"
#include "runtime/kernels/codes.h"
#include "runtime/kernels/map.h"

namespace octet::kernels {

/// The most numbers of a tile.
inline constexpr int64_t kTileNumbers = 512;

/// Q of GELU of `args.x`, for args.scale from kLeastGeluScale to its reciprocal.
using GeluCodes = void(const QuantizeArgs& args);
GeluCodes gelu_codes_avx2, gelu_codes_avx512, gelu_tanh_codes_avx2, gelu_tanh_codes_avx512;
inline constexpr float kLeastGeluScale = 0x1p-60F;

class TileFunction {
 public:
  /// A program of one input.
  TileFunction(const numerics::Program& program, Isa isa);

  /// Inside a chunk of a loop: y[i] = f(x[i]), up to kTileNumbers; y may be x.
  void to_floats(const float* x, int64_t count, float* y) const;
  /// The same with Q of each result. args.x is written to.
  void to_codes(const QuantizeArgs& args, float* x) const;

 private:
  MapPlan plan_;
  Isa isa_;
  GeluCodes* gelu_ = nullptr; ///< of a program that is GELU alone
};

} // namespace octet::kernels
