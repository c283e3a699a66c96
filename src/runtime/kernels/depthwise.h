// SPDX-License-Identifier: Apache-2.0
// Depthwise part of the int8 convolution with vectors. A line of the output is one run of elements,
// channels innermost, and each tap reads one run of a copied line at a fixed distance: vectors run
// over elements, whatever the number of channels. Copied lines hold the padding, are shifted to
// unsigned, and lie apart by the columns that a stride leaves between taps.
#pragma once

#include <cstdint>

#include "runtime/kernels/iconv.h"
#include "runtime/kernels/igemm_tile.h"

namespace octet::kernels {

/// How an instruction set multiplies: `elements` outputs at a time, `taps` of one in a product.
/// Blocks of weights and constants hold their elements as interleaving bytes of 128-bit lanes
/// leaves them: the k-th quarter has elements 16 l + 4 k to 16 l + 4 k + 3 of each lane l.
struct DepthwiseForm {
  int64_t elements = 0;
  int64_t taps = 0;
};
constexpr DepthwiseForm kDepthwiseAvx2{.elements = 32, .taps = 2};       // int16 weights
constexpr DepthwiseForm kDepthwiseAvx512Vnni{.elements = 64, .taps = 4}; // int8 weights

/// Elements [0, count) of a run, whose block 0 starts a channel 0.
struct DepthwiseRun {
  const uint8_t* const* taps = nullptr; ///< where each tap's run starts; up to a block more is read
  int64_t tap_count = 0;
  int64_t count = 0;
  int64_t blocks = 0;               ///< after which weights and constants repeat
  const uint8_t* weights = nullptr; ///< [blocks][groups of taps][elements][taps]
  const int32_t* init = nullptr;    ///< [blocks][elements], as the two below
  const float* multiplier = nullptr;
  const float* bias = nullptr;
  const Epilogue* epilogue = nullptr; ///< null: y is the sums, int32, with init added
  void* y = nullptr;
};
/// Epilogues are those whose numbers stay within int32 (IgemmColumns::bounded), to 8 bits, without
/// a residual.
void depthwise_run_avx2(const DepthwiseRun& run);
void depthwise_run_avx512vnni(const DepthwiseRun& run);

/// Fills packed.depthwise for its instruction set.
void pack_depthwise(const int8_t* w, PackedConv& packed);

/// Output lines of all images.
void depthwise_lines(const IconvArgs& args, ParallelFor& parallel);

} // namespace octet::kernels
