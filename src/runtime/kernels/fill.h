// SPDX-License-Identifier: Apache-2.0
// Tensors of two values by index (OneHot), triangles of matrices (Trilu), sequences in reverse.
#pragma once

#include <cstdint>

#include "octet/dtype.h"

namespace octet {
class ParallelFor;
}

namespace octet::kernels {

/// y: [outer, depth, inner], everywhere off but on where the index of [outer, inner] says so. An
/// index that is not in [-depth, depth), or no whole number, says nothing.
struct OneHotArgs {
  int64_t width = 4; ///< bytes of an element of y: 1, 2, 4 or 8
  int64_t outer = 1, depth = 1, inner = 1;
  DType index_type = DType::kInt64; ///< i64, i32 or f32
  const void* index = nullptr;
  const void* values = nullptr; ///< off, on
  void* y = nullptr;
};
void one_hot(const OneHotArgs& args, ParallelFor& parallel);

/// y = x on one side of the diagonal `k` of each matrix and on it, 0 on the other.
struct TriangleArgs {
  int64_t width = 4; ///< bytes of an element, any
  int64_t matrices = 1, rows = 1, columns = 1;
  bool upper = true;
  int64_t k = 0;
  const void* x = nullptr;
  void* y = nullptr;
};
void triangle(const TriangleArgs& args, ParallelFor& parallel);

/// x: [first, second, run_bytes], one of the two axes time, the other batch. The first
/// lengths[b] steps of time, each 0 to all of them, come in reverse.
struct ReverseArgs {
  int64_t first = 1, second = 1;
  int64_t run_bytes = 1;
  bool time_first = true;
  const int64_t* lengths = nullptr;
  const void* x = nullptr;
  void* y = nullptr;
};
void reverse_sequences(const ReverseArgs& args, ParallelFor& parallel);

} // namespace octet::kernels
