// SPDX-License-Identifier: Apache-2.0
// Tiles and buffers of a program, and the scalar form of its instructions.
#include "runtime/kernels/map.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "core/for_isa.h"
#include "core/threads.h"
#include "runtime/kernels/buffer.h"
#include "runtime/kernels/code_functions.h"
#include "runtime/kernels/codes.h"
#include "runtime/kernels/map_cost.h"

namespace octet::kernels {
namespace {

using numerics::MapInstruction;
using numerics::MapOperand;

constexpr int64_t kTile = 512;
/// Where nothing is kept between instructions, a tile only saves calls.
constexpr int64_t kLongTile = 8192;
constexpr double kWrittenNs = 0.3;
constexpr double kCodesNs = 0.15;
constexpr double kTileNs = 10.0;

} // namespace

void map_scalar(const MapCall& call) {
  const auto at = [](const MapCall::From& from, int64_t i) {
    return from.p == nullptr ? 0.0F : from.p[from.repeats ? 0 : i];
  };
  for (int64_t i = 0; i < call.count; ++i)
    call.y[i] = numerics::apply(call.op, at(call.a, i), at(call.b, i), at(call.c, i));
}

/// Rows [row, row + rows) of all their elements, or a piece of one.
struct MapPlan::Tile {
  int64_t row = 0, rows = 1;
  int64_t first = 0; ///< element of the row
  int64_t count = 0; ///< of all rows together
  int64_t at = 0;    ///< in the output
};

/// Where the operands of instructions lie.
struct MapPlan::Chunk {
  std::span<const void* const> inputs;
  void* y = nullptr;
  float* buffers = nullptr;
  uint8_t* codes = nullptr; ///< a tile of them
  void (*run)(const MapCall&) = nullptr;
  CodeKernels code_kernels;
  FloatLookup* lookup = nullptr;
  std::array<MapCall::From, numerics::kMaxMapInputs> from{};
  std::array<float*, numerics::kMaxMapInstructions> results{};
};

/// Some codes of an input, as the program reads them.
void MapPlan::find_numbers(
    const Chunk& chunk, size_t input, const uint8_t* codes, int64_t count, float* to) const {
  if (tables_[input] != nullptr) return chunk.lookup(*tables_[input], codes, count, to);
  chunk.code_kernels.dequantize(reading(formats_[input], codes, count, to), 0, count);
}

MapPlan::MapPlan(numerics::Program program,
                 std::span<const std::vector<int64_t>> inputs,
                 std::span<const int64_t> output,
                 std::vector<MapFormat> formats,
                 MapFormat y)
    : formats_(std::move(formats)), y_format_(y), loops_(plan_broadcast(inputs, output)) {
  formats_.resize(inputs.size());
  const bool whole = !y.coded() && std::ranges::equal(inputs.front(), output);
  TabledProgram tabled = table_codes(std::move(program), formats_, whole);
  program_ = std::move(tabled.program);
  tables_ = std::move(tabled.tables);
  choose_tiles();
  assign_buffers();
}

void MapPlan::choose_tiles() {
  const int64_t length = loops_.sizes.back();
  for (size_t i = 0; i + 1 < loops_.sizes.size(); ++i)
    rows_ *= loops_.sizes[i];
  const bool pieces = rows_ == 1 || length * 2 >= kTile;
  for (const std::vector<int64_t>& strides : loops_.strides) {
    int64_t dense = 1;
    bool runs_on = true;
    bool outer = false;
    for (size_t i = strides.size(); i-- > 0;) {
      runs_on = runs_on && strides[i] == dense;
      outer = outer || (i + 1 < strides.size() && strides[i] != 0);
      dense *= loops_.sizes[i];
    }
    const bool along = strides.back() != 0;
    if (pieces)
      ways_.push_back(along ? Way::kDense : Way::kRepeats);
    else if (runs_on)
      ways_.push_back(Way::kDense);
    else if (outer)
      ways_.push_back(Way::kRows);
    else
      ways_.push_back(along ? Way::kPattern : Way::kRepeats);
  }
  const bool writes = std::any_of(ways_.begin(), ways_.end(), [](Way way) {
    return way == Way::kPattern || way == Way::kRows;
  });
  const auto coded = std::count_if(formats_.begin(), formats_.end(),
                                   [](const MapFormat& f) { return f.coded(); }) +
                     (y_format_.coded() ? 1 : 0);
  const int64_t limit = program_.code.size() == 1 && !writes && coded == 0 ? kLongTile : kTile;
  if (pieces) {
    pieces_ = std::max<int64_t>(1, (length + limit - 1) / limit);
    piece_ = round_up((length + pieces_ - 1) / pieces_, 16);
    pieces_ = piece_ == 0 ? 0 : (length + piece_ - 1) / piece_;
    tiles_ = rows_ * pieces_;
    buffer_size_ = piece_;
  } else {
    piece_ = length;
    tile_rows_ = length == 0 ? 1 : std::max<int64_t>(1, limit / length);
    tiles_ = length == 0 ? 0 : (rows_ + tile_rows_ - 1) / tile_rows_;
    buffer_size_ = round_up(tile_rows_ * piece_, 16);
  }
  double ns = kCodesNs * static_cast<double>(coded);
  for (const MapInstruction& each : program_.code)
    ns += cost_ns(each.op);
  ns += kWrittenNs * static_cast<double>(std::count(ways_.begin(), ways_.end(), Way::kRows));
  grain_ = grain_for(kTileNs + ns * static_cast<double>(tile_rows_ * piece_));
}

/// A result's buffer is free again behind the last instruction that reads it, which may write there.
void MapPlan::assign_buffers() {
  for (size_t k = 0; k < ways_.size(); ++k) {
    const bool writes = ways_[k] == Way::kPattern || ways_[k] == Way::kRows || formats_[k].coded();
    input_buffers_.push_back(writes ? buffers_++ : -1);
  }
  const size_t count = program_.code.size();
  std::vector<size_t> last(count, 0);
  for (size_t i = 0; i < count; ++i) {
    last[i] = i;
    for (const MapOperand& operand : program_.code[i].used())
      if (operand.kind == MapOperand::Kind::kResult) last[operand.index] = i;
  }
  std::vector<int> free;
  result_buffers_.assign(count, -1);
  for (size_t i = 0; i + (y_format_.coded() ? 0 : 1) < count; ++i) {
    for (size_t k = 0; k < i; ++k)
      if (last[k] == i) free.push_back(result_buffers_[k]);
    if (free.empty()) free.push_back(buffers_++);
    result_buffers_[i] = free.back();
    free.pop_back();
    if (last[i] == i) free.push_back(result_buffers_[i]); // nobody reads it
  }
}

MapPlan::Tile MapPlan::tile(int64_t index) const {
  Tile t;
  if (tile_rows_ == 1) {
    t.row = index / pieces_;
    t.first = index % pieces_ * piece_;
    t.count = std::min(piece_, loops_.sizes.back() - t.first);
    t.at = t.row * loops_.sizes.back() + t.first;
    return t;
  }
  t.row = index * tile_rows_;
  t.rows = std::min(tile_rows_, rows_ - t.row);
  t.count = t.rows * piece_;
  t.at = t.row * piece_;
  return t;
}

/// Of the first element of a row.
int64_t MapPlan::offset(size_t input, int64_t row) const {
  int64_t at = 0;
  for (size_t i = loops_.sizes.size() - 1; i-- > 0;) {
    at += row % loops_.sizes[i] * loops_.strides[input][i];
    row /= loops_.sizes[i];
  }
  return at;
}

template <typename T>
void MapPlan::write_rows(size_t input, const T* x, const Tile& tile, T* to) const {
  const bool along = loops_.strides[input].back() != 0;
  const size_t axis = loops_.sizes.size() - 2; // rows lie along it
  const int64_t size = loops_.sizes[axis];
  const int64_t step = loops_.strides[input][axis];
  for (int64_t r = 0; r < tile.rows;) {
    const T* from = x + offset(input, tile.row + r);
    const int64_t end = std::min(tile.rows, r + size - (tile.row + r) % size);
    for (; r < end; ++r, from += step, to += piece_) {
      if (along)
        std::copy_n(from, piece_, to);
      else
        std::fill_n(to, piece_, *from);
    }
  }
}

/// Where the numbers of an input's tile are written.
float* MapPlan::numbers_at(const Chunk& chunk, size_t input, const Tile& tile) const {
  if (program_.code.empty()) return static_cast<float*>(chunk.y) + tile.at;
  return chunk.buffers + input_buffers_[input] * buffer_size_;
}

/// Writes the rows of an input out, as floats.
void MapPlan::find_rows(Chunk& chunk, size_t input, const Tile& tile) const {
  float* to = numbers_at(chunk, input, tile);
  if (!formats_[input].coded())
    return write_rows(input, static_cast<const float*>(chunk.inputs[input]), tile, to);
  write_rows(input, static_cast<const uint8_t*>(chunk.inputs[input]), tile, chunk.codes);
  find_numbers(chunk, input, chunk.codes, tile.rows * piece_, to);
}

/// Where the operands of one tile are that are not the same in all of them.
void MapPlan::find_operands(Chunk& chunk, const Tile& tile) const {
  const bool by_pieces = tile_rows_ == 1;
  for (size_t k = 0; k < ways_.size(); ++k) {
    if (ways_[k] == Way::kRows) {
      find_rows(chunk, k, tile);
      continue;
    }
    const bool dense = ways_[k] == Way::kDense;
    if (!by_pieces && !dense) continue;
    const int64_t at = by_pieces ? offset(k, tile.row) + (dense ? tile.first : 0) : tile.at;
    if (!formats_[k].coded()) {
      chunk.from[k].p = static_cast<const float*>(chunk.inputs[k]) + at;
      continue;
    }
    find_numbers(chunk, k, static_cast<const uint8_t*>(chunk.inputs[k]) + at,
                 dense ? tile.count : 1, numbers_at(chunk, k, tile));
  }
}

void MapPlan::place_results(Chunk& chunk) const {
  for (size_t i = 0; i < program_.code.size(); ++i)
    if (result_buffers_[i] >= 0)
      chunk.results[i] = chunk.buffers + result_buffers_[i] * buffer_size_;
}

void MapPlan::run_code(const Chunk& chunk, int64_t count) const {
  const auto from = [&](const MapOperand& operand) -> MapCall::From {
    if (operand.kind == MapOperand::Kind::kInput) return chunk.from[operand.index];
    if (operand.kind == MapOperand::Kind::kConstant)
      return {&program_.constants[operand.index], true};
    return {chunk.results[operand.index], false};
  };
  for (size_t i = 0; i < program_.code.size(); ++i) {
    const MapInstruction& each = program_.code[i];
    const size_t used = each.used().size();
    chunk.run({each.op, from(each.operands[0]), used > 1 ? from(each.operands[1]) : MapCall::From{},
               used > 2 ? from(each.operands[2]) : MapCall::From{}, count, chunk.results[i]});
  }
}

void MapPlan::run_tile(Chunk& chunk, const Tile& tile) const {
  const size_t last = program_.code.size() - 1;
  if (!y_format_.coded()) chunk.results[last] = static_cast<float*>(chunk.y) + tile.at;
  run_code(chunk, tile.count);
  if (!y_format_.coded()) return;
  auto* codes = static_cast<uint8_t*>(chunk.y) + tile.at;
  chunk.code_kernels.quantize(writing(y_format_, chunk.results[last], tile.count, codes), 0,
                              tile.count);
}

void MapPlan::run_chunk(Chunk& chunk, int64_t begin, int64_t end) const {
  const auto buffer = [&](int index) { return chunk.buffers + index * buffer_size_; };
  place_results(chunk);
  for (size_t k = 0; k < ways_.size(); ++k) {
    chunk.from[k] = {static_cast<const float*>(chunk.inputs[k]), ways_[k] == Way::kRepeats};
    if (input_buffers_[k] < 0) continue;
    chunk.from[k].p = buffer(input_buffers_[k]);
    if (ways_[k] == Way::kPattern) {
      find_rows(chunk, k, {.rows = tile_rows_});
    } else if (ways_[k] == Way::kRepeats) {
      find_numbers(chunk, k, static_cast<const uint8_t*>(chunk.inputs[k]), 1,
                   buffer(input_buffers_[k]));
    }
  }
  for (int64_t index = begin; index < end; ++index) {
    const Tile t = tile(index);
    find_operands(chunk, t);
    if (!program_.code.empty()) run_tile(chunk, t);
  }
}

void MapPlan::run_tile(const float* x, int64_t count, float* y, Isa isa) const {
  const auto bytes = static_cast<size_t>(buffers_ * buffer_size_) * sizeof(float);
  Chunk chunk{.y = y,
              .buffers = reinterpret_cast<float*>(chunk_scratch(Scratch::kTile, bytes)),
              .run = for_isa<map_scalar, Isa::kAvx2, map_avx2, Isa::kAvx512, map_avx512>(isa)};
  place_results(chunk);
  chunk.from[0] = {x, false};
  chunk.results[program_.code.size() - 1] = y;
  run_code(chunk, count);
}

void MapPlan::run(std::span<const void* const> inputs,
                  void* y,
                  Isa isa,
                  ParallelFor& parallel) const {
  const auto floats = static_cast<size_t>(buffers_ * buffer_size_) * sizeof(float);
  const auto codes = static_cast<size_t>(buffer_size_);
  parallel.run(tiles_, grain_, [&](int64_t begin, int64_t end) {
    std::byte* scratch = chunk_scratch(Scratch::kTile, floats + codes);
    Chunk chunk{.inputs = inputs,
                .y = y,
                .buffers = reinterpret_cast<float*>(scratch),
                .codes = reinterpret_cast<uint8_t*>(scratch + floats),
                .run = for_isa<map_scalar, Isa::kAvx2, map_avx2, Isa::kAvx512, map_avx512>(isa),
                .code_kernels = code_kernels_of(isa),
                .lookup = float_lookup_of(isa)};
    run_chunk(chunk, begin, end);
  });
}

} // namespace octet::kernels
