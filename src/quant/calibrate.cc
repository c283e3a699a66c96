// SPDX-License-Identifier: Apache-2.0
#include "quant/calibrate.h"

#include <algorithm>
#include <memory>

#include "core/format.h"
#include "graph/sizes.h"

namespace octet {

namespace {

bool begins_with(const Shape& shape, const Shape& start) {
  return start.size() <= shape.size() && std::equal(start.begin(), start.end(), shape.begin());
}

/// The graph with the requested values as its outputs; requests for inputs are taken from what is
/// fed.
struct Taps {
  Graph graph;
  std::vector<std::pair<size_t, size_t>> inputs; ///< request, graph input
  std::vector<size_t> outputs;                   ///< graph output -> request
};

Taps tap(const Graph& graph, std::span<const ObserveRequest> requests) {
  Taps taps{graph, {}, {}};
  std::vector<ValueId> outputs;
  for (size_t r = 0; r < requests.size(); ++r) {
    const auto& inputs = graph.inputs();
    const auto found = std::find(inputs.begin(), inputs.end(), requests[r].value);
    if (found != inputs.end()) {
      taps.inputs.emplace_back(r, static_cast<size_t>(found - inputs.begin()));
      continue;
    }
    taps.outputs.push_back(r);
    outputs.push_back(requests[r].value);
  }
  if (!outputs.empty()) {
    taps.graph.set_outputs(std::move(outputs));
    taps.graph.remove_dead();
  }
  return taps;
}

int64_t samples_in(std::span<const Tensor> inputs) {
  return inputs.empty() || inputs[0].rank() == 0 ? 1 : inputs[0].dim(0);
}

class TapRunner {
 public:
  /// `total`: samples, for progress.
  TapRunner(const Graph& graph,
            std::span<const ObserveRequest> requests,
            const QuantizeOptions& options,
            int64_t total)
      : graph_(graph), requests_(requests), options_(options), total_(total),
        taps_(tap(graph, requests)) {}

  Status prepare() {
    for (const ObserveRequest& request : requests_)
      observers_.push_back(OCTET_TRY(
          Observer::create(request.calibrator.value_or(options_.calibrator), request.scheme)));
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
    for (const auto& [request, input] : taps_.inputs)
      OCTET_TRY(observe(request, inputs[input], mask));
    if (executor_)
      OCTET_TRY(executor_->stream(inputs, [&](size_t output, const Tensor& value) {
        return observe(taps_.outputs[output], value, mask);
      }));
    samples_ += samples_in(inputs);
    return report();
  }

  int64_t samples() const { return samples_; }

  Result<std::map<ValueId, Observation>> finish() const {
    std::map<ValueId, Observation> out;
    for (size_t r = 0; r < requests_.size(); ++r) {
      OCTET_TRY(report()); // a range may be searched for
      const std::vector<Range> ranges = OCTET_TRY_WITH(observers_[r].ranges(), label(r));
      out[requests_[r].value] = {ranges.at(0), observers_[r].infinities()};
    }
    return out;
  }

 private:
  Status observe(size_t request, const Tensor& value, const Tensor* mask) {
    const bool masked = mask != nullptr && begins_with(value.shape(), mask->shape());
    OCTET_TRY_WITH(observers_[request].observe(value, masked ? mask : nullptr), label(request));
    return report();
  }

  Status report() const {
    if (!options_.progress || options_.progress(samples_, total_)) return ok_status();
    return error(ErrorCode::kCancelled, "stopped after {} samples", samples_);
  }

  std::string label(size_t r) const {
    return fmt::format("value \"{}\"", graph_.value(requests_[r].value).name);
  }

  const Graph& graph_;
  std::span<const ObserveRequest> requests_;
  const QuantizeOptions& options_;
  int64_t total_ = 0, samples_ = 0;
  Taps taps_;
  std::vector<Observer> observers_;
  std::unique_ptr<Executor> executor_;
  std::optional<size_t> mask_;
};

} // namespace

Result<Calibration> calibrate(const Graph& graph,
                              std::span<const ObserveRequest> requests,
                              const CalibrationSource& source,
                              const QuantizeOptions& options,
                              int64_t samples) {
  Calibration out;
  if (requests.empty()) return out;
  if (!source) return error("calibration: no data was given");
  TapRunner calibrator(graph, requests, options, samples);
  OCTET_TRY(calibrator.prepare());
  for (int64_t number = 0;; ++number) {
    const auto inputs = OCTET_TRY_WITH(source(), fmt::format("calibration: batch {}", number));
    if (!inputs) break;
    OCTET_TRY_WITH(calibrator.batch(*inputs), fmt::format("calibration: batch {}", number));
  }
  out.samples = calibrator.samples();
  if (out.samples == 0) return error("calibration: the data holds no sample");
  out.values = OCTET_TRY_WITH(calibrator.finish(), "calibration");
  return out;
}

CalibrationSource
batches_of(const Graph& graph, const Dataset& data, int64_t samples, int64_t batch_size) {
  const int64_t n = samples <= 0 ? data.size() : std::min(samples, data.size());
  const auto fixed = fixed_batch(graph);
  const int64_t size = fixed.value_or(std::max<int64_t>(batch_size, 1));
  auto next = std::make_shared<int64_t>(0);
  return [&graph, &data, n, size, fixed, next]() -> Result<std::optional<std::vector<Tensor>>> {
    if (*next >= n) return std::optional<std::vector<Tensor>>();
    std::vector<int64_t> indices;
    for (int64_t i = *next; i < *next + size && (fixed || i < n); ++i)
      indices.push_back(i % n * data.size() / n); // a fixed batch is filled up from the first
    *next += size;
    const Batch batch = OCTET_TRY(data.batch(indices));
    return std::optional(OCTET_TRY(bind_inputs(graph, batch)));
  };
}

} // namespace octet
