// SPDX-License-Identifier: Apache-2.0
// y = round_saturate(fma(float(code), factor, offset)) between two 8-bit tensors whose channels lie
// innermost: what a program of one coded tensor and one number a channel comes to where it is a
// line. Bit for bit the scalar function of core/numerics/round.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/cpu.h"
#include "runtime/kernels/map.h"

namespace octet::kernels {

/// One factor and offset for each channel, repeated to a period of whole vectors where that is
/// short.
struct AffineCodes {
  std::vector<float> factor, offset;
  bool x_signed = true;
  bool y_signed = true;
  int32_t zero_point = 0;
  int32_t lo = -128;
  int32_t hi = 127;
};

/// y may be x.
void affine_codes(const AffineCodes& affine,
                  const void* x,
                  int64_t count,
                  void* y,
                  Isa isa,
                  ParallelFor& parallel);

/// A program of codes `x`, input 0, and of numbers for each of `channels`; of those one is given for
/// all, or one for each.
struct ChannelProgram {
  const numerics::Program* program = nullptr;
  MapFormat x, y;
  int64_t channels = 1;
  std::vector<std::vector<float>> others; ///< inputs 1 and on: 1 or `channels` numbers
};

/// The line whose codes are those of the program for every code and channel, if one is found.
std::optional<AffineCodes> find_affine(const ChannelProgram& made, Isa isa);

/// Elements [begin, end), of which each period of factors starts at a multiple of its length.
struct AffineCall {
  const AffineCodes* affine = nullptr;
  const void* x = nullptr;
  void* y = nullptr;
};
void affine_codes_scalar(const AffineCall& call, int64_t begin, int64_t end);
void affine_codes_avx2(const AffineCall& call, int64_t begin, int64_t end);
void affine_codes_avx512(const AffineCall& call, int64_t begin, int64_t end);

} // namespace octet::kernels
