// SPDX-License-Identifier: Apache-2.0
// Attention: y = softmax(program(q k^T)) v for each item of a batch (a head). A block of rows of
// the scores against all keys stays in scratch; operands are read, and y is written, where they
// lie. Each step has the bits of the kernel that it is alone: sgemm or qmatmul, map, softmax,
// quantize, sgemm or qmatmul. Bits do not depend on instruction set, threads or how rows are cut.
#pragma once

#include <cstdint>
#include <span>

#include "core/cpu.h"
#include "core/numerics/program.h"
#include "runtime/kernels/code_product.h"

namespace octet {
class ParallelFor;
}

namespace octet::kernels {

/// Longest sums of codes: 255 * 255 * k stays below 2^31.
constexpr int64_t kMaxAttentionSum = 33024;

/// Item i starts at data + offsets[i]; all counts are elements.
struct AttentionOperand {
  const void* data = nullptr;
  const int64_t* offsets = nullptr;
  int64_t row_stride = 0;   ///< between rows: queries, or keys of k and v
  int64_t inner_stride = 1; ///< along a row: 1 but for k, and for inputs of the program that repeat
};

/// The probabilities as codes.
struct AttentionCodes {
  float scale = 1.0F;
  int32_t zero_point = 0;
  bool is_signed = true;
};

struct AttentionArgs {
  int64_t items = 0;
  int64_t queries = 0; ///< rows of q and y
  int64_t keys = 0;    ///< rows of k and v
  int64_t depth = 0;   ///< of rows of q and k
  int64_t width = 0;   ///< of rows of v and y
  AttentionOperand q;
  AttentionOperand k;
  AttentionOperand v;
  /// q and k are codes: `scores` is the form of their product; else f32.
  bool scores_on_codes = false;
  CodeProductForm scores;
  const numerics::Program* program = nullptr; ///< of the scores and `inputs`; or null
  AttentionOperand inputs[numerics::kMaxMapInputs - 1];
  /// v is codes: `p` are those of the probabilities, `context` is the form of the product and
  /// `epilogue` what follows it; else f32.
  bool context_on_codes = false;
  AttentionCodes p;
  CodeProductForm context;
  Epilogue epilogue;
  void* y = nullptr;
  const int64_t* y_offsets = nullptr;
  int64_t y_stride = 0; ///< elements between rows
  Isa isa = Isa::kScalar;
  std::byte* shared = nullptr; ///< shared_bytes() aligned to 64; null: chunks make it themselves
};

/// Memory that the threads share; `args` need no addresses of data.
size_t shared_bytes(const AttentionArgs& args);

void attention(const AttentionArgs& args, ParallelFor& parallel);

/// The same of each segment by itself: rows [offsets[s], offsets[s + 1]) of q, k, v and y, which
/// have as many; operands of the program have strides of 0. `offsets` ascend from 0 to args.keys.
/// Takes no shared memory.
void segment_attention(const AttentionArgs& args,
                       std::span<const int64_t> offsets,
                       ParallelFor& parallel);

} // namespace octet::kernels
