// SPDX-License-Identifier: Apache-2.0
// Programs of core/numerics/program.h over tensors that broadcast: each instruction runs over a
// tile of elements that stays in the first cache, so that a chain of functions reads and writes
// memory once. Bit for bit Program::eval of each element; codes are dequantized and quantized tile
// by tile, as core/numerics/round.h says.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/cpu.h"
#include "core/numerics/program.h"
#include "runtime/kernels/broadcast.h"
#include "runtime/kernels/float_table.h"
#include "runtime/kernels/map_format.h"

namespace octet {
class ParallelFor;
}

namespace octet::kernels {

/// y[i] = op(a[i], b[i], c[i]) for i < count; an operand that repeats is one number. y may be any
/// of the operands that do not repeat.
struct MapCall {
  struct From {
    const float* p = nullptr;
    bool repeats = false;
  };
  numerics::MapOp op = numerics::MapOp::kAdd;
  From a, b, c;
  int64_t count = 0;
  float* y = nullptr;
};
void map_scalar(const MapCall& call);
void map_avx2(const MapCall& call);
void map_avx512(const MapCall& call);

/// A program bound to shapes.
class MapPlan {
 public:
  /// A format for each input, or none: all are floats.
  MapPlan(numerics::Program program,
          std::span<const std::vector<int64_t>> inputs,
          std::span<const int64_t> output,
          std::vector<MapFormat> formats = {},
          MapFormat y = {});

  /// y may be no input that broadcasts, and none of another format.
  void run(std::span<const void* const> inputs, void* y, Isa isa, ParallelFor& parallel) const;

  /// Of one input with the output's shape: the first `count` elements, no more than a tile has, in
  /// the chunk of another loop. y may be x.
  void run_tile(const float* x, int64_t count, float* y, Isa isa) const;

 private:
  /// How a tile finds the elements of an input.
  enum class Way : uint8_t {
    kDense,   ///< they run on as those of the output
    kRepeats, ///< one for the whole tile
    kPattern, ///< each row has the same: written out once for a chunk
    kRows,    ///< written out for each tile
  };
  struct Tile;
  struct Chunk;

  float* numbers_at(const Chunk& chunk, size_t input, const Tile& tile) const;
  void find_numbers(
      const Chunk& chunk, size_t input, const uint8_t* codes, int64_t count, float* to) const;
  void choose_tiles();
  void assign_buffers();
  Tile tile(int64_t index) const;
  int64_t offset(size_t input, int64_t row) const;
  template <typename T>
  void write_rows(size_t input, const T* x, const Tile& tile, T* to) const;
  void find_operands(Chunk& chunk, const Tile& tile) const;
  void find_rows(Chunk& chunk, size_t input, const Tile& tile) const;
  void place_results(Chunk& chunk) const;
  void run_code(const Chunk& chunk, int64_t count) const;
  void run_tile(Chunk& chunk, const Tile& tile) const;
  void run_chunk(Chunk& chunk, int64_t begin, int64_t end) const;

  numerics::Program program_;      ///< of what the tables leave
  std::vector<MapFormat> formats_; ///< by input
  /// By input: what the program reads of codes, or null for the numbers that they stand for. A
  /// program without instructions is the table of its one input, as large as the output.
  std::vector<std::shared_ptr<const FloatTable>> tables_;
  MapFormat y_format_;
  BroadcastPlan loops_;
  std::vector<Way> ways_;
  int64_t rows_ = 1;      ///< along the last axis
  int64_t tile_rows_ = 1; ///< in a tile
  int64_t piece_ = 1;     ///< elements of a row in a tile
  int64_t pieces_ = 1;    ///< of a row
  int64_t tiles_ = 0;
  int64_t grain_ = 1;
  int64_t buffer_size_ = 0; ///< elements
  /// By input or instruction; -1: it needs none.
  std::vector<int> input_buffers_, result_buffers_;
  int buffers_ = 0;
};

} // namespace octet::kernels
