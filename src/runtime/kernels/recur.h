// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN over sequences: octet.native's operators to the bit (ops/native/recurrent.h,
// core/numerics/cell.h). The sums of x are a product over many steps at a time; then each step
// continues them over h, and a cell makes h (and c) of them. One chunk of the recurrent loop has
// some sequences of one direction, step after step. QLSTM (ops/native/qlstm.cc) has its sums of x
// given and multiplies codes of h: a chunk has all sequences of a direction, over which the range
// of h is taken.
#pragma once

#include <cstdint>
#include <span>

#include "core/numerics/cell.h"
#include "runtime/kernels/igemm.h"
#include "runtime/kernels/sgemm.h"

namespace octet::kernels {

enum class Cell : uint8_t {
  kRnn,       ///< one gate
  kGru,       ///< z, r, h; the candidate's chain goes on over r h
  kGruLinear, ///< z, r, h; linear_before_reset
  kLstm,      ///< i, o, f, c
};

/// R of one direction as codes. Rows of h are read where they are made: packed for u8, in one order.
struct RecurCodes {
  PackedWeights weights;
  const float* scales = nullptr; ///< [G H]
};

/// Of one direction, borrowed from the step that owns them.
struct RecurWeights {
  PackedFloat input;                     ///< x to the G H sums; not where x is those
  PackedFloat recurrent;                 ///< h to them; of GRU to those of z and r
  PackedFloat candidate;                 ///< of GRU to the last H
  RecurCodes codes;                      ///< of QLSTM in place of them
  const float* bias = nullptr;           ///< [G H], or null
  const float* candidate_bias = nullptr; ///< [H] of kGruLinear, or null
  const float* peepholes = nullptr;      ///< [3 H] of LSTM, or null
  numerics::CellRules rules;
  bool backwards = false;
};

struct RecurArgs {
  Cell cell = Cell::kLstm;
  int64_t steps = 0, batch = 0, inputs = 0, hidden = 0;
  std::span<const RecurWeights> directions;
  const float* x = nullptr;
  int64_t x_step = 0, x_row = 0;    ///< elements between steps and between sequences
  bool x_is_sums = false;           ///< a row of x has the sums of all directions, with biases
  const float* given[2] = {};       ///< QLSTM: sums of x by direction, [steps, batch, G H]
  bool on_codes = false;            ///< QLSTM
  const int32_t* lengths = nullptr; ///< [batch], each within [0, steps]; null: all
  const float* initial_h = nullptr; ///< null: 0
  const float* initial_c = nullptr;
  int64_t state_direction = 0, state_row = 0; ///< of initial_h, initial_c, y_h and y_c
  float* y = nullptr;                         ///< null: nobody reads it; 0 behind a sequence's end
  int64_t y_step = 0, y_direction = 0, y_row = 0;
  float* y_h = nullptr; ///< null: nobody reads it
  float* y_c = nullptr;
  std::byte* shared = nullptr;
  Isa isa = Isa::kScalar;

  int64_t sums() const { return hidden * (cell == Cell::kLstm ? 4 : cell == Cell::kRnn ? 1 : 3); }
};

size_t shared_bytes(const RecurArgs& args);
void recur(const RecurArgs& args, ParallelFor& parallel);

/// The cells of one sequence at one step. `sums` [G H]; h, and c of LSTM, become the next step's.
struct CellArgs {
  const numerics::CellRules* rules = nullptr;
  int64_t hidden = 0;
  float* sums = nullptr;
  float* h = nullptr;
  float* c = nullptr;
  const float* peepholes = nullptr; ///< LSTM: [3 H], or null
  float* other = nullptr;           ///< GRU: r h, a result; linear: the chain over h, an operand
};
/// to[i] = fma(float(acc[i] - zero * column_sums[i]), scale * scales[i], from[i])
struct ScaledSums {
  const int32_t* acc = nullptr; ///< of 16 columns; those of the next 16 lie `acc_step` further on
  int64_t acc_step = 0;
  int32_t zero = 0;
  const int32_t* column_sums = nullptr; ///< padded to 16
  float scale = 1.0F;
  const float* scales = nullptr;
  const float* from = nullptr;
  int64_t count = 0;
  float* to = nullptr;
};
struct CellKernels {
  void (*lstm)(const CellArgs&);
  void (*rnn)(const CellArgs&);
  void (*gru_reset)(const CellArgs&);  ///< z takes the place of its sum, other = r h
  void (*gru)(const CellArgs&);        ///< of z and the candidate's sum
  void (*gru_linear)(const CellArgs&); ///< of all sums and `other`
  void (*scaled)(const ScaledSums&);
};
CellKernels cell_kernels(Isa isa);
CellKernels cell_kernels_avx2();
CellKernels cell_kernels_avx512();

} // namespace octet::kernels
