// SPDX-License-Identifier: Apache-2.0
#include "quant/calibrate.h"

#include <algorithm>
#include <memory>

#include "core/format.h"
#include "quant/batch_rows.h"

namespace octet {

namespace {

bool begins_with(const Shape& shape, const Shape& start) {
  return start.size() <= shape.size() && std::equal(start.begin(), start.end(), shape.begin());
}

/// The graph with the wanted values as its outputs; graph inputs are taken from what is fed.
struct Taps {
  Graph graph;
  std::vector<std::pair<size_t, size_t>> inputs; ///< place in the list, graph input
  std::vector<size_t> outputs;                   ///< graph output -> place in the list
};

Taps tap(const Graph& graph, std::span<const ValueId> values) {
  Taps taps{graph, {}, {}};
  std::vector<ValueId> outputs;
  for (size_t r = 0; r < values.size(); ++r) {
    const auto& inputs = graph.inputs();
    const auto found = std::find(inputs.begin(), inputs.end(), values[r]);
    if (found != inputs.end()) {
      taps.inputs.emplace_back(r, static_cast<size_t>(found - inputs.begin()));
      continue;
    }
    taps.outputs.push_back(r);
    outputs.push_back(values[r]);
  }
  if (!outputs.empty()) {
    taps.graph.set_outputs(std::move(outputs));
    taps.graph.remove_dead();
  }
  return taps;
}

/// A value in the order in which it lies (StoredTap); with a mask, and where the runner was asked
/// for it, in its own.
struct Seen {
  const Tensor& stored;
  std::span<const int64_t> axes;
  const Tensor* mask;
};

/// Takes the value at a place in the list.
using See = std::function<Status(size_t place, const Seen& value)>;

enum class Order { kOwn, kAsStored };

class TapRunner {
 public:
  /// `total`: samples, for progress.
  TapRunner(const Graph& graph,
            std::span<const ValueId> values,
            const QuantizeOptions& options,
            int64_t total,
            Order order,
            See see)
      : graph_(graph), values_(values), options_(options), total_(total), order_(order),
        taps_(tap(graph, values)), see_(std::move(see)) {}

  /// Runs the graph over all batches.
  Status run(const CalibrationSource& source, Nothing nothing = Nothing::kError) {
    if (!source) return error("calibration: no data was given");
    OCTET_TRY(prepare());
    for (int64_t number = 0;; ++number) {
      const auto inputs = OCTET_TRY_WITH(source(), fmt::format("calibration: batch {}", number));
      if (!inputs) break;
      OCTET_TRY_WITH(batch(*inputs), place(number, *inputs));
    }
    if (samples_ == 0 && nothing == Nothing::kError)
      return error("calibration: the data holds no sample");
    return ok_status();
  }

  int64_t samples() const { return samples_; }

  /// Hands over the values of one more batch, in their own order.
  Status values_of(std::span<const Tensor> inputs, const See& see) const {
    const Tensor* mask = mask_ ? &inputs[*mask_] : nullptr;
    const auto hand = [&](size_t place, const Tensor& value) -> Status {
      OCTET_TRY_WITH(see(place, seen(value, {}, mask)), label(place));
      return ok_status();
    };
    for (const auto& [place, input] : taps_.inputs)
      OCTET_TRY(hand(place, inputs[input]));
    if (!executor_) return ok_status();
    return executor_->stream(inputs, [&](size_t output, const Tensor& value) {
      return hand(taps_.outputs[output], value);
    });
  }

  Status report() const {
    if (!options_.progress || options_.progress(samples_, total_)) return ok_status();
    return error(ErrorCode::kCancelled, "stopped after {} samples", samples_);
  }

  /// Some models say that they take any number of examples and hold the sizes of one.
  static std::string place(int64_t number, std::span<const Tensor> inputs) {
    const int64_t count = examples_in(inputs);
    if (count < 2) return fmt::format("calibration: batch {}", number);
    return fmt::format(
        "calibration: batch {}, {} examples (--batch 1 where a model takes only one)", number,
        count);
  }

  std::string label(size_t place) const {
    return fmt::format("value \"{}\"", graph_.value(values_[place]).name);
  }

 private:
  Status prepare() {
    if (!options_.mask_input.empty()) {
      const auto mask = graph_.find_value(options_.mask_input);
      const auto& inputs = graph_.inputs();
      const auto found = mask ? std::find(inputs.begin(), inputs.end(), *mask) : inputs.end();
      if (found == inputs.end())
        return error("mask input \"{}\": the graph has no input of that name", options_.mask_input);
      mask_ = static_cast<size_t>(found - inputs.begin());
    }
    if (taps_.outputs.empty()) return ok_status();
    executor_ = OCTET_TRY(options_.executor ? options_.executor(taps_.graph)
                                            : make_reference_executor(taps_.graph));
    return ok_status();
  }

  Status batch(std::span<const Tensor> inputs) {
    if (inputs.size() != graph_.inputs().size())
      return error("calibration: the graph has {} inputs, the data brings {}",
                   graph_.inputs().size(), inputs.size());
    const Tensor* mask = mask_ ? &inputs[*mask_] : nullptr;
    for (const auto& [place, input] : taps_.inputs)
      OCTET_TRY(see(place, inputs[input], {}, mask));
    if (executor_ && (mask != nullptr || order_ == Order::kOwn))
      OCTET_TRY(executor_->stream(inputs, [&](size_t output, const Tensor& value) {
        return see(taps_.outputs[output], value, {}, mask);
      }));
    else if (executor_)
      OCTET_TRY(executor_->stream_stored(
          inputs, [&](size_t output, const Tensor& stored, std::span<const int64_t> axes) {
            return see(taps_.outputs[output], stored, axes, nullptr);
          }));
    samples_ += examples_in(inputs);
    return report();
  }

  static Seen seen(const Tensor& value, std::span<const int64_t> axes, const Tensor* mask) {
    const bool masked = mask != nullptr && begins_with(value.shape(), mask->shape());
    return {value, axes, masked ? mask : nullptr};
  }

  Status see(size_t place, const Tensor& value, std::span<const int64_t> axes, const Tensor* mask) {
    OCTET_TRY_WITH(see_(place, seen(value, axes, mask)), label(place));
    return report();
  }

  const Graph& graph_;
  std::span<const ValueId> values_;
  const QuantizeOptions& options_;
  int64_t total_ = 0, samples_ = 0;
  Order order_;
  Taps taps_;
  See see_;
  std::unique_ptr<Executor> executor_;
  std::optional<size_t> mask_;
};

struct Requested {
  std::vector<ValueId> values;
  std::vector<Observer> observers;
};

Result<Requested> requested(std::span<const ObserveRequest> requests,
                            const QuantizeOptions& options) {
  Requested out;
  for (const ObserveRequest& request : requests) {
    out.values.push_back(request.value);
    out.observers.push_back(OCTET_TRY(
        Observer::create(request.calibrator.value_or(options.calibrator), request.scheme)));
  }
  return out;
}

/// Hands what is seen to the observer of its place, or to the mean behind those.
See observe_by(std::vector<Observer>& observers, std::span<SampledMean> means = {}) {
  return [&observers, means](size_t place, const Seen& value) -> Status {
    if (place >= observers.size()) {
      if (place - observers.size() < means.size())
        means[place - observers.size()].observe(value.stored, value.axes, value.mask);
      return ok_status();
    }
    Observer& observer = observers[place];
    return value.mask != nullptr ? observer.observe(value.stored, value.mask)
                                 : observer.observe_stored(value.stored, value.axes);
  };
}

/// Hands the examples held back to the observers, and keeps the float network's outputs, which are
/// the values behind those that are observed.
Status run_held_back(TapRunner& runner,
                     std::vector<Observer>& observers,
                     std::span<SampledMean> means,
                     HeldBack& held) {
  const See observe = observe_by(observers, means);
  const size_t first = observers.size() + means.size();
  for (HeldBack::Batch& batch : held.batches) {
    OCTET_TRY(runner.values_of(batch.inputs, [&](size_t place, const Seen& value) -> Status {
      if (place < first)
        return held.observed || batch.observed ? ok_status() : observe(place, value);
      batch.outputs.resize(std::max(batch.outputs.size(), place - first + 1));
      batch.outputs[place - first] = value.stored.clone();
      return ok_status();
    }));
    OCTET_TRY(runner.report());
  }
  return ok_status();
}

} // namespace

Result<Observed> observe(const Graph& graph,
                         std::span<const ObserveRequest> requests,
                         const CalibrationSource& source,
                         const QuantizeOptions& options,
                         int64_t samples,
                         Nothing nothing) {
  auto [values, observers] = OCTET_TRY(requested(requests, options));
  TapRunner runner(graph, values, options, samples, Order::kAsStored, observe_by(observers));
  OCTET_TRY(runner.run(source, nothing));
  return Observed{std::move(observers), runner.samples()};
}

Result<Calibration> calibrate(const Graph& graph,
                              std::span<const ObserveRequest> requests,
                              const CalibrationSource& source,
                              const QuantizeOptions& options,
                              int64_t samples,
                              HeldBack* held,
                              std::span<const MeanRequest> wanted) {
  Calibration out;
  if (requests.empty() && wanted.empty()) return out;
  auto [values, observers] = OCTET_TRY(requested(requests, options));
  std::vector<SampledMean> means;
  for (const MeanRequest& mean : wanted) {
    values.push_back(mean.value);
    means.emplace_back(mean.axis);
  }
  if (held != nullptr) values.insert(values.end(), graph.outputs().begin(), graph.outputs().end());
  TapRunner runner(graph, values, options, samples, Order::kAsStored, observe_by(observers, means));
  OCTET_TRY(runner.run(held == nullptr ? source : hold_back(graph, source, samples, *held)));
  out.samples = runner.samples();
  for (size_t r = 0; r < requests.size(); ++r) {
    OCTET_TRY_WITH(runner.report(), "calibration"); // a range may be searched for
    const std::vector<Range> ranges =
        OCTET_TRY_WITH(observers[r].ranges(), fmt::format("calibration: {}", runner.label(r)));
    Observation& seen = out.values[requests[r].value];
    seen = {ranges.at(0), {}, observers[r].infinities()};
    if (is_auto(requests[r], options))
      for (const Calibrator& calibrator : kAutoCalibrators)
        seen.choices.push_back(OCTET_TRY(observers[r].ranges_by(calibrator)).at(0));
  }
  const auto take_means = [&](ChannelMeans ObservedMeans::*of) {
    for (size_t m = 0; m < means.size(); ++m)
      if (std::vector<float> known = means[m].means(); !known.empty())
        out.means[wanted[m].value].*of = {wanted[m].axis, std::move(known)};
      else
        out.means.erase(wanted[m].value);
  };
  take_means(&ObservedMeans::means);
  if (held != nullptr)
    OCTET_TRY_WITH(run_held_back(runner, observers, means, *held), "calibration");
  take_means(&ObservedMeans::whole);
  if (held == nullptr) return out;
  for (size_t r = 0; r < requests.size(); ++r)
    if (!held->observed && is_auto(requests[r], options))
      out.whole.emplace(requests[r].value, std::move(observers[r]));
  return out;
}

Status collect(const Graph& graph,
               std::span<const StatisticRequest> requests,
               const CalibrationSource& source,
               const QuantizeOptions& options,
               int64_t samples) {
  std::vector<ValueId> values;
  values.reserve(requests.size());
  for (const StatisticRequest& request : requests)
    values.push_back(request.value);
  TapRunner runner(graph, values, options, samples, Order::kOwn,
                   [&](size_t place, const Seen& value) {
                     return requests[place].statistic->observe(value.stored, value.mask);
                   });
  return runner.run(source);
}

Batches::Batches(const Graph& graph, const Dataset& data, int64_t samples, int64_t batch_size)
    : graph_(&graph), data_(&data),
      samples_(samples <= 0 ? data.size() : std::min(samples, data.size())),
      is_fixed_(batch_for(graph, data, 1) == batch_for(graph, data, 2)),
      size_(batch_for(graph, data, batch_size)) {}

CalibrationSource Batches::source(int64_t first, int64_t end) const {
  auto next = std::make_shared<int64_t>(first);
  return [*this, end, next]() -> Result<std::optional<std::vector<Tensor>>> {
    if (*next >= end) return std::optional<std::vector<Tensor>>();
    const int64_t begin = *next * size_;
    std::vector<int64_t> indices;
    for (int64_t i = begin; i < begin + size_ && (is_fixed_ || i < samples_); ++i)
      indices.push_back(i % samples_ * data_->size() / samples_);
    ++*next;
    const Batch batch = OCTET_TRY(data_->batch(indices));
    return std::optional(OCTET_TRY(bind_inputs(*graph_, batch)));
  };
}

CalibrationSource
batches_of(const Graph& graph, const Dataset& data, int64_t samples, int64_t batch_size) {
  const Batches all(graph, data, samples, batch_size);
  return all.source(0, all.count());
}

} // namespace octet
