// SPDX-License-Identifier: Apache-2.0
#include "quant/held_back.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "quant/batch_rows.h"
#include "quant/channels.h"
#include "quant/loudness_ends.h"

namespace octet {

namespace {

/// Of so many one is held back: where there are few, more of them, since one or two tell nothing.
int64_t share_of(int64_t samples) {
  constexpr int64_t kFew = 256;
  return samples > 0 && samples < kFew ? 4 : 8;
}

/// How many of `samples` (0: not known) are held back.
int64_t examples_to_hold(int64_t samples) {
  constexpr int64_t kUnknown = 8, kMost = 32;
  return samples <= 0 ? kUnknown : std::clamp<int64_t>(samples / share_of(samples), 1, kMost);
}

std::vector<Tensor> copies_of(std::span<const Tensor> inputs) {
  std::vector<Tensor> out;
  out.reserve(inputs.size());
  for (const Tensor& input : inputs)
    out.push_back(input.clone());
  return out;
}

void hold(HeldBack& held, std::vector<Tensor> inputs) {
  held.examples += examples_in(inputs);
  held.batches.push_back({std::move(inputs), {}});
}

/// Rows of a batch, few at once, so that a part of what is held back can be run alone.
void hold_rows(HeldBack& held, std::span<const Tensor> inputs, std::span<const int64_t> rows) {
  for (; !rows.empty(); rows = rows.subspan(std::min(rows.size(), HeldBack::kFew)))
    hold(held, rows_of(inputs, rows.first(std::min(rows.size(), HeldBack::kFew))));
}

} // namespace

CalibrationSource
hold_back(const Graph& graph, CalibrationSource source, int64_t samples, HeldBack& held) {
  if (!source) return source;
  const int64_t wanted = examples_to_hold(samples), share = share_of(samples);
  struct State {
    CalibrationSource source;
    int64_t batches = 0, examples = 0; ///< that came so far
    std::vector<Tensor> first;         ///< until something is held back
    LoudnessEnds extremes;             ///< of the rest
  };
  auto state = std::make_shared<State>(State{std::move(source), 0, 0, {}, {}});
  return [&graph, &held, state, wanted, share]() -> Result<std::optional<std::vector<Tensor>>> {
    for (;;) {
      auto batch = OCTET_TRY(state->source());
      if (!batch) {
        if (held.batches.empty() && !state->first.empty()) {
          held.observed = true;
          hold(held, std::move(state->first));
        }
        if (!held.observed) state->extremes.join(held);
        return batch;
      }
      const int64_t number = state->batches++, begin = state->examples;
      state->examples += examples_in(*batch);
      const bool cut = can_be_cut(graph, *batch);
      std::vector<int64_t> back, on;
      if (held.examples >= wanted) {
        on.resize(static_cast<size_t>(cut ? examples_in(*batch) : 0));
        std::iota(on.begin(), on.end(), int64_t{0});
        state->extremes.see(*batch, on);
        return batch;
      }
      if (held.batches.empty() && number == 0) state->first = copies_of(*batch);
      if (cut) {
        const int64_t left = wanted - held.examples;
        for (int64_t i = 0; i < examples_in(*batch); ++i)
          ((begin + i) % share == 1 && std::ssize(back) < left ? back : on).push_back(i);
        hold_rows(held, *batch, back);
        state->extremes.see(*batch, on);
      } else if (number % share == 1) {
        hold(held, copies_of(*batch));
        back.push_back(number);
      }
      if (!held.batches.empty()) state->first.clear();
      if (back.empty()) return batch;
      if (!on.empty()) return std::optional(rows_of(*batch, on));
    }
  };
}

void OutputError::add(std::span<const Tensor> wanted,
                      std::span<const Tensor> got,
                      const Tensor* mask) {
  outputs_.resize(wanted.size());
  for (size_t k = 0; k < wanted.size(); ++k) {
    const Tensor &want = wanted[k], &is = got[k];
    One& one = outputs_[k];
    if (want.type() == DType::kString) continue;
    if (want.shape() != is.shape() || want.type() != is.type()) {
      one.noise = std::numeric_limits<double>::infinity();
      continue;
    }
    const bool masked =
        mask != nullptr && mask->rank() <= want.rank() &&
        std::equal(mask->shape().begin(), mask->shape().end(), want.shape().begin());
    const Mask keep(want, masked ? mask : nullptr);
    const Result<std::vector<double>> x = want.to_doubles(), y = is.to_doubles();
    if (!x.ok() || !y.ok()) continue; // complex numbers
    for (size_t i = 0; i < x->size(); ++i)
      if (keep(static_cast<int64_t>(i))) one.take((*x)[i], (*y)[i], is_float(want.type()));
  }
}

void OutputError::One::take(double x, double y, bool real) {
  if (!real) {
    power += 1;
    if (x != y) noise += 1;
  } else if (std::isfinite(x)) {
    power += x * x;
    if (std::isfinite(y))
      noise += (x - y) * (x - y);
    else
      noise = std::numeric_limits<double>::infinity();
  }
}

double OutputError::mean() const {
  double sum = 0;
  for (const One& one : outputs_)
    if (one.noise > 0) sum += one.noise / std::max(one.power, std::numeric_limits<double>::min());
  return outputs_.empty() ? 0 : sum / static_cast<double>(outputs_.size());
}

double collapsed(int64_t examples) {
  constexpr int64_t kMany = 32;
  return examples < kMany ? 0.05 : 0.1;
}

double decibels(double error) {
  constexpr double kMost = 200;
  return error > 0 ? std::clamp(-10 * std::log10(error), -kMost, kMost) : kMost;
}

} // namespace octet
