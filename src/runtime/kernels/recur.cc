// SPDX-License-Identifier: Apache-2.0
// Driver of the recurrent operators and the scalar cells.
#include "runtime/kernels/recur.h"

#include <algorithm>
#include <cmath>

#include "core/for_isa.h"
#include "core/threads.h"
#include "runtime/kernels/codes.h"
#include "runtime/kernels/igemm_tile.h"
#include "runtime/kernels/row_block.h"
#include "runtime/kernels/sgemm_tile.h"

namespace octet::kernels {
namespace {

// Sums of so many steps lie ready at a time, in the second-level cache.
constexpr int64_t kSumFloats = int64_t{1} << 18;
// Sequences of one chunk read the recurrent weights together.
constexpr int64_t kSequences = 48;
// Only set how much work a chunk has.
constexpr double kProductsPerNs = 16.0;
constexpr double kCodeProductsPerNs = 64.0;
constexpr double kCellNs = 1.0;

void lstm_scalar(const CellArgs& a) {
  const int64_t n = a.hidden;
  for (int64_t i = 0; i < n; ++i) {
    float peepholes[3] = {};
    for (int64_t k = 0; a.peepholes != nullptr && k < 3; ++k) {
      peepholes[k] = a.peepholes[k * n + i];
    }
    const float* sum = a.sums + i;
    numerics::lstm_cell(*a.rules,
                        {.i = sum[0],
                         .o = sum[n],
                         .f = sum[2 * n],
                         .c = sum[3 * n],
                         .peepholes = a.peepholes == nullptr ? nullptr : peepholes},
                        a.c[i], a.h[i]);
  }
}

void rnn_scalar(const CellArgs& a) {
  for (int64_t i = 0; i < a.hidden; ++i) {
    a.h[i] = numerics::apply(a.rules->f, a.rules->clip, a.sums[i]);
  }
}

void gru_reset_scalar(const CellArgs& a) {
  const numerics::CellRules& rules = *a.rules;
  for (int64_t i = 0; i < a.hidden; ++i) {
    a.sums[i] = numerics::apply(rules.f, rules.clip, a.sums[i]);
    a.other[i] = numerics::apply(rules.f, rules.clip, a.sums[a.hidden + i]) * a.h[i];
  }
}

void gru_scalar(const CellArgs& a) {
  for (int64_t i = 0; i < a.hidden; ++i) {
    a.h[i] = numerics::gru_cell(*a.rules, a.sums[i], a.sums[2 * a.hidden + i], a.h[i]);
  }
}

void gru_linear_scalar(const CellArgs& a) {
  const numerics::CellRules& rules = *a.rules;
  for (int64_t i = 0; i < a.hidden; ++i) {
    const float z = numerics::apply(rules.f, rules.clip, a.sums[i]);
    const float r = numerics::apply(rules.f, rules.clip, a.sums[a.hidden + i]);
    const float n = std::fma(r, a.other[i], a.sums[2 * a.hidden + i]);
    a.h[i] = numerics::gru_cell(rules, z, n, a.h[i]);
  }
}

void scaled_scalar(const ScaledSums& a) {
  for (int64_t i = 0; i < a.count; ++i) {
    const int32_t acc = a.acc[i / kColumnsPerPanel * a.acc_step + i % kColumnsPerPanel];
    a.to[i] = std::fma(static_cast<float>(acc - a.zero * a.column_sums[i]), a.scale * a.scales[i],
                       a.from[i]);
  }
}

CellKernels cell_kernels_scalar() {
  return {lstm_scalar, rnn_scalar, gru_reset_scalar, gru_scalar, gru_linear_scalar, scaled_scalar};
}

/// Where things lie in the shared memory, each [direction][..][sequence].
struct Layout {
  int64_t together = 1; ///< steps whose sums are there at a time
  int64_t sums = 0, h = 0, c = 0, other = 0, acc = 0, codes = 0, end = 0;

  explicit Layout(const RecurArgs& a) {
    const int64_t cells = std::ssize(a.directions) * a.batch * a.hidden;
    const int64_t one = std::ssize(a.directions) * a.batch * a.sums();
    if (!a.on_codes && !a.x_is_sums)
      together = std::clamp<int64_t>(kSumFloats / std::max<int64_t>(one, 1), 1,
                                     std::max<int64_t>(a.steps, 1));
    h = together * one;
    c = h + cells;
    other = c + (a.cell == Cell::kLstm ? cells : 0);
    end = other + (a.cell == Cell::kGru || a.cell == Cell::kGruLinear ? cells : 0);
    if (!a.on_codes) return;
    acc = end;
    codes = acc + std::ssize(a.directions) * acc_of_one(a);
    end = codes + std::ssize(a.directions) * codes_of_one(a);
  }
  /// Of one direction: sums of some rows; codes of h, behind which a product may read.
  static int64_t acc_of_one(const RecurArgs& a) {
    return std::min(a.batch, kTileRows) * round_up(a.sums(), kColumnsPerPanel);
  }
  static int64_t codes_of_one(const RecurArgs& a) {
    return round_up(a.batch * a.hidden + 3, 64) / int64_t{sizeof(float)};
  }
};

class Run {
 public:
  explicit Run(const RecurArgs& args)
      : a_(args), at_(args), memory_(reinterpret_cast<float*>(args.shared)),
        cells_(cell_kernels(args.isa)) {}

  void all(ParallelFor& parallel) const {
    begin_states();
    if (a_.on_codes) {
      step_on_codes(parallel);
    } else if (a_.x_is_sums) {
      step(0, a_.steps, parallel);
    } else {
      for (int64_t first = 0; first < a_.steps; first += at_.together) {
        const int64_t count = std::min(at_.together, a_.steps - first);
        sum_inputs(first, count, parallel);
        step(first, count, parallel);
      }
    }
    end_states();
  }

 private:
  int64_t length(int64_t n) const { return a_.lengths == nullptr ? a_.steps : a_.lengths[n]; }
  int64_t state(int64_t d, int64_t n) const { return (d * a_.batch + n) * a_.hidden; }
  float* sums(int64_t d, int64_t step, int64_t n) const {
    return memory_ + at_.sums + ((d * at_.together + step) * a_.batch + n) * a_.sums();
  }
  /// The time that direction d looks at in its step k.
  int64_t time(int64_t d, int64_t k, int64_t n) const {
    return a_.directions[static_cast<size_t>(d)].backwards ? length(n) - 1 - k : k;
  }

  void begin_states() const {
    const auto begin = [&](const float* from, float* to) {
      for (int64_t d = 0; d < std::ssize(a_.directions); ++d) {
        for (int64_t n = 0; n < a_.batch; ++n) {
          float* one = to + state(d, n);
          if (from == nullptr) {
            std::fill_n(one, a_.hidden, 0.0F);
          } else {
            std::copy_n(from + d * a_.state_direction + n * a_.state_row, a_.hidden, one);
          }
        }
      }
    };
    begin(a_.initial_h, memory_ + at_.h);
    if (a_.cell == Cell::kLstm) begin(a_.initial_c, memory_ + at_.c);
  }

  void end_states() const {
    for (int64_t d = 0; d < std::ssize(a_.directions); ++d) {
      for (int64_t n = 0; n < a_.batch; ++n) {
        const int64_t to = d * a_.state_direction + n * a_.state_row;
        if (a_.y_h != nullptr) std::copy_n(memory_ + at_.h + state(d, n), a_.hidden, a_.y_h + to);
        if (a_.y_c != nullptr) std::copy_n(memory_ + at_.c + state(d, n), a_.hidden, a_.y_c + to);
        for (int64_t t = length(n); a_.y != nullptr && t < a_.steps; ++t) {
          std::fill_n(a_.y + t * a_.y_step + d * a_.y_direction + n * a_.y_row, a_.hidden, 0.0F);
        }
      }
    }
  }

  /// Row r of the product is step first + r / batch of sequence r % batch. Behind the end of a
  /// sequence it is any row, whose sums nobody reads.
  void sum_inputs(int64_t first, int64_t count, ParallelFor& parallel) const {
    const int64_t rows = count * a_.batch;
    const Cut cut = cut_product(rows, a_.directions[0].input);
    const int64_t chunks = cut.chunks() * std::ssize(a_.directions);
    parallel.run(chunks, cut.grain, [&](int64_t begin, int64_t end) {
      for (int64_t chunk = begin; chunk < end; ++chunk) {
        const int64_t d = chunk / cut.chunks();
        const RecurWeights& w = a_.directions[static_cast<size_t>(d)];
        const Range range = cut.rows_of(chunk % cut.chunks());
        FloatBlock block = block_of(w.input);
        block.run = a_.inputs;
        block.epilogue.bias = w.bias;
        block.y = sums(d, 0, 0);
        block.y_stride = a_.sums();
        block.row = range.begin;
        block.panels = cut.panels_of(chunk % cut.chunks());
        RowCollector<FloatBlock> collector(block);
        for (int64_t r = range.begin; r < range.end; ++r) {
          const int64_t n = r % a_.batch;
          const int64_t t = std::max<int64_t>(time(d, first + r / a_.batch, n), 0);
          collector.add(a_.x + t * a_.x_step + n * a_.x_row);
        }
        collector.flush();
      }
    });
  }

  void step(int64_t first, int64_t count, ParallelFor& parallel) const {
    const Blocks rows =
        even_blocks(a_.batch, kSequences, block_of(a_.directions[0].recurrent).kernels.rows);
    const double ns = static_cast<double>(count * rows.longest()) *
                      (static_cast<double>(a_.sums() * a_.hidden) / kProductsPerNs +
                       static_cast<double>(a_.sums()) * kCellNs);
    const int64_t chunks = rows.count * std::ssize(a_.directions);
    parallel.run(chunks, grain_for(ns), [&](int64_t begin, int64_t end) {
      for (int64_t chunk = begin; chunk < end; ++chunk) {
        const int64_t d = chunk / rows.count;
        const Range range = rows[chunk % rows.count];
        for (int64_t k = 0; k < count; ++k) {
          if (a_.x_is_sums) take_sums(d, range, first + k);
          one_step(d, range, first + k, a_.x_is_sums ? 0 : k);
        }
      }
    });
  }

  /// The given sums of step k, to where a chain goes on with them.
  void take_sums(int64_t d, Range range, int64_t k) const {
    for (int64_t n = range.begin; n < range.end; ++n) {
      const int64_t t = std::max<int64_t>(time(d, k, n), 0);
      std::copy_n(a_.x + t * a_.x_step + n * a_.x_row + d * a_.sums(), a_.sums(), sums(d, 0, n));
    }
  }

  static FloatBlock block_of(const PackedFloat& w) {
    FloatBlock block;
    block.run = w.k;
    block.w = w.data.as<float>();
    block.n = w.n;
    block.kernels = float_tile_kernels(w.isa, w.n);
    block.panels = {0, panel_count(w)};
    return block;
  }

  /// What lies behind a sequence's end is not computed with: its states stay.
  bool is_active(int64_t k, int64_t n) const { return k < length(n); }

  template <typename F>
  void each_active(Range range, int64_t k, F&& f) const {
    for (int64_t n = range.begin; n < range.end; ++n) {
      if (is_active(k, n)) f(n);
    }
  }

  CellArgs cell_of(int64_t d, int64_t slot, int64_t n) const {
    const RecurWeights& w = a_.directions[static_cast<size_t>(d)];
    CellArgs cell;
    cell.rules = &w.rules;
    cell.hidden = a_.hidden;
    cell.sums = sums(d, slot, n);
    cell.h = memory_ + at_.h + state(d, n);
    cell.c = memory_ + at_.c + state(d, n);
    cell.peepholes = w.peepholes;
    cell.other = memory_ + at_.other + state(d, n);
    return cell;
  }

  /// Step k of some sequences of a direction, whose sums of x lie in `slot`.
  void one_step(int64_t d, Range range, int64_t k, int64_t slot) const {
    bool some = false;
    each_active(range, k, [&](int64_t) { some = true; });
    if (!some) return;
    const RecurWeights& w = a_.directions[static_cast<size_t>(d)];
    const float* h = memory_ + at_.h + state(d, range.begin);
    float* other = memory_ + at_.other + state(d, range.begin);
    FloatBlock chain = block_of(w.recurrent);
    chain.continues = true;
    chain.y = sums(d, slot, range.begin);
    chain.y_stride = a_.sums();
    run_rows(chain, h, a_.hidden, range.count());
    void (*cell)(const CellArgs&) = a_.cell == Cell::kLstm ? cells_.lstm : cells_.rnn;
    if (a_.cell == Cell::kGruLinear) {
      FloatBlock candidate = block_of(w.candidate);
      candidate.epilogue.bias = w.candidate_bias;
      candidate.y = other;
      candidate.y_stride = a_.hidden;
      run_rows(candidate, h, a_.hidden, range.count());
      cell = cells_.gru_linear;
    } else if (a_.cell == Cell::kGru) {
      for (int64_t n = range.begin; n < range.end; ++n) {
        cells_.gru_reset(cell_of(d, slot, n));
      }
      FloatBlock candidate = block_of(w.candidate);
      candidate.continues = true;
      candidate.y = sums(d, slot, range.begin) + 2 * a_.hidden;
      candidate.y_stride = a_.sums();
      run_rows(candidate, other, a_.hidden, range.count());
      cell = cells_.gru;
    }
    each_active(range, k, [&](int64_t n) { run_cell(cell, d, k, slot, n); });
  }

  void
  run_cell(void (*cell)(const CellArgs&), int64_t d, int64_t k, int64_t slot, int64_t n) const {
    const CellArgs args = cell_of(d, slot, n);
    cell(args);
    if (a_.y != nullptr)
      std::copy_n(args.h, a_.hidden,
                  a_.y + time(d, k, n) * a_.y_step + d * a_.y_direction + n * a_.y_row);
  }

  void step_on_codes(ParallelFor& parallel) const {
    const double ns = static_cast<double>(a_.steps * a_.batch * a_.sums()) *
                      (static_cast<double>(a_.hidden) / kCodeProductsPerNs + kCellNs);
    parallel.run(std::ssize(a_.directions), grain_for(ns), [&](int64_t begin, int64_t end) {
      for (int64_t d = begin; d < end; ++d) {
        for (int64_t k = 0; k < a_.steps; ++k) {
          one_step_on_codes(d, k);
        }
      }
    });
  }

  /// Step k of all sequences of a direction.
  void one_step_on_codes(int64_t d, int64_t k) const {
    const RecurCodes& r = a_.directions[static_cast<size_t>(d)].codes;
    auto* const codes =
        reinterpret_cast<uint8_t*>(memory_ + at_.codes + d * Layout::codes_of_one(a_));
    SerialFor serial;
    float scale = 1.0F;
    uint8_t zero = 0;
    dynamic_quantize(memory_ + at_.h + state(d, 0), a_.batch * a_.hidden, codes, &scale, &zero,
                     a_.isa, serial);
    auto* const acc = reinterpret_cast<int32_t*>(memory_ + at_.acc) + d * Layout::acc_of_one(a_);
    for (int64_t first = 0; first < a_.batch; first += kTileRows) {
      const int64_t count = std::min(kTileRows, a_.batch - first);
      const uint8_t* rows[kTileRows];
      for (int64_t i = 0; i < count; ++i)
        rows[i] = codes + (first + i) * a_.hidden;
      dot_panels(r.weights, rows, count, acc);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t n = first + i;
        cells_.scaled({.acc = acc + i * kColumnsPerPanel,
                       .acc_step = count * kColumnsPerPanel,
                       .zero = zero,
                       .column_sums = r.weights.sums.as<int32_t>(),
                       .scale = scale,
                       .scales = r.scales,
                       .from = a_.given[d] + (time(d, k, n) * a_.batch + n) * a_.sums(),
                       .count = a_.sums(),
                       .to = this->sums(d, 0, n)});
        run_cell(cells_.lstm, d, k, 0, n);
      }
    }
  }

  const RecurArgs& a_;
  Layout at_;
  float* memory_;
  CellKernels cells_;
};

} // namespace

CellKernels cell_kernels(Isa isa) {
  return for_isa<cell_kernels_scalar, Isa::kAvx2, cell_kernels_avx2, Isa::kAvx512,
                 cell_kernels_avx512>(isa)();
}

size_t shared_bytes(const RecurArgs& args) {
  return static_cast<size_t>(Layout(args).end) * sizeof(float);
}

void recur(const RecurArgs& args, ParallelFor& parallel) {
  if (args.batch <= 0) return;
  Run(args).all(parallel);
}

} // namespace octet::kernels
