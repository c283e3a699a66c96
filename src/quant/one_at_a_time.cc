// SPDX-License-Identifier: Apache-2.0
#include "quant/one_at_a_time.h"

#include <deque>

#include "quant/batch_rows.h"
#include "quant/held_back.h"

namespace octet {

namespace {

/// 80 dB.
constexpr float kLouder = 1e4F;
/// Of power: 60 dB. Less is rounding.
constexpr double kOtherNumbers = 1e-6;

bool has_parts(const Graph& graph, std::span<const Tensor> batch) {
  return examples_in(batch) > 1 && can_be_cut(graph, batch);
}

/// The first example between the second and the second, whose floats are larger.
std::vector<Tensor> between_loud_ones(std::span<const Tensor> batch) {
  std::vector<Tensor> three = rows_of(batch, std::vector<int64_t>{1, 0, 1});
  for (Tensor& input : three) {
    if (input.type() != DType::kFloat32) continue;
    const std::span<float> values = input.mutable_data<float>();
    const size_t row = values.size() / 3;
    for (const std::span<float> loud : {values.first(row), values.last(row)})
      for (float& x : loud)
        x *= kLouder;
  }
  return three;
}

} // namespace

bool mixes_examples_of(const Graph& graph,
                       std::span<const Tensor> batch,
                       const QuantizeOptions& options) {
  if (!has_parts(graph, batch)) return false;
  const auto executor = options.executor ? options.executor(graph) : make_reference_executor(graph);
  if (!executor.ok()) return false;
  const auto alone = (*executor)->run(rows_of(batch, std::vector<int64_t>{0}));
  if (!alone.ok()) return false;
  const auto all = (*executor)->run(between_loud_ones(batch));
  if (!all.ok()) return false;
  for (size_t k = 0; k < alone->size(); ++k) {
    const Tensor &one = (*alone)[k], &three = (*all)[k];
    if (one.type() == DType::kString || one.type() != three.type() || bits(one.type()) < 8 ||
        one.rank() == 0 || three.rank() != one.rank() || one.dim(0) != 1 || three.dim(0) != 3)
      continue;
    OutputError error;
    error.add(std::span(&one, 1), rows_of(std::span(&three, 1), std::vector<int64_t>{1}), nullptr);
    if (error.mean() > kOtherNumbers) return true;
  }
  return false;
}

OpenCalibration without_mixing(const Graph& graph,
                               OpenCalibration open,
                               const QuantizeOptions& options,
                               const std::shared_ptr<std::optional<bool>>& mixes) {
  return [&graph, open = std::move(open), &options, mixes]() -> Result<CalibrationSource> {
    CalibrationSource source = OCTET_TRY(open());
    if (!source) return source;
    auto waiting = std::make_shared<std::deque<std::vector<Tensor>>>();
    return CalibrationSource(
        [&graph, &options, mixes, waiting,
         source = std::move(source)]() -> Result<std::optional<std::vector<Tensor>>> {
          if (waiting->empty()) {
            auto batch = OCTET_TRY(source());
            if (!batch || !has_parts(graph, *batch)) return batch;
            if (!*mixes) *mixes = mixes_examples_of(graph, *batch, options);
            if (!**mixes) return batch;
            for (int64_t row = 0; row < examples_in(*batch); ++row)
              waiting->push_back(rows_of(*batch, std::vector<int64_t>{row}));
          }
          std::vector<Tensor> next = std::move(waiting->front());
          waiting->pop_front();
          return std::optional(std::move(next));
        });
  };
}

} // namespace octet
