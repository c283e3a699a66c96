// SPDX-License-Identifier: Apache-2.0
// Calibration: runs a graph over a stream of batches and observes some of its values.
#pragma once

#include <array>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "quant/held_back.h"
#include "quant/statistics/sampled_mean.h"
#include "quant/statistics/statistic.h"

#include "octet/quantize.h"

namespace octet {

/// What the calibrator `auto` chooses among. All take their ranges from one histogram.
inline const std::array<Calibrator, 4> kAutoCalibrators = {MinMax{}, Percentile{}, Entropy{},
                                                           Mse{}};

struct ObserveRequest {
  ValueId value; ///< a graph input or a node's output
  Scheme scheme;
  std::optional<Calibrator> calibrator = std::nullopt; ///< else the one of the options
};

inline bool is_auto(const ObserveRequest& request, const QuantizeOptions& options) {
  return std::holds_alternative<Auto>(request.calibrator.value_or(options.calibrator));
}

/// A value of whose channels the means are wanted.
struct MeanRequest {
  ValueId value; ///< a graph input or a node's output
  int64_t axis;  ///< as ChannelMeans
};
struct ObservedMeans {
  ChannelMeans means;
  ChannelMeans whole; ///< those of the examples held back too
};

struct Observation {
  Range range;
  std::vector<Range> choices; ///< of the calibrator `auto`: by each of kAutoCalibrators
  int64_t infinities = 0;
};

struct Calibration {
  std::map<ValueId, Observation> values;
  /// Of values with the calibrator `auto`, where examples were held back: what was observed of those
  /// too.
  std::map<ValueId, Observer> whole;
  std::map<ValueId, ObservedMeans> means; ///< where they are known
  int64_t samples = 0;                    ///< sum of the batches' first dimensions
};

/// Errors name the value: NaN, nothing finite; a source without batches; an input that does not
/// fit; kCancelled when progress says so. `held`: takes some examples, which the ranges do not count,
/// and the graph's outputs on them; null: all count.
Result<Calibration> calibrate(const Graph& graph,
                              std::span<const ObserveRequest> requests,
                              const CalibrationSource& source,
                              const QuantizeOptions& options,
                              int64_t samples,
                              HeldBack* held = nullptr,
                              std::span<const MeanRequest> means = {});

/// The batches of batches_of(), of which parts can be gone through.
class Batches {
 public:
  Batches(const Graph& graph, const Dataset& data, int64_t samples, int64_t batch_size);
  int64_t samples() const { return samples_; }
  int64_t size() const { return size_; }   ///< of each but the last, which may be smaller
  bool fixed() const { return is_fixed_; } ///< no smaller batch fits
  int64_t count() const { return (samples_ + size_ - 1) / size_; }
  /// From `first` up to `end`, which is not one of them. Graph and data set must outlive it.
  CalibrationSource source(int64_t first, int64_t end) const;

 private:
  const Graph* graph_;
  const Dataset* data_;
  int64_t samples_;
  bool is_fixed_; ///< by graph and data: the last batch is filled up from the first on
  int64_t size_;
};

struct Observed {
  std::vector<Observer> observers; ///< one for each request
  int64_t samples = 0;             ///< as of Calibration
};
enum class Nothing { kError, kFine }; ///< What a source without batches is.
/// As calibrate, with what was observed in place of ranges.
Result<Observed> observe(const Graph& graph,
                         std::span<const ObserveRequest> requests,
                         const CalibrationSource& source,
                         const QuantizeOptions& options,
                         int64_t samples,
                         Nothing nothing = Nothing::kError);

struct StatisticRequest {
  ValueId value; ///< a graph input or a node's output
  Statistic* statistic;
};
/// One pass that hands each value to its statistic; errors as calibrate.
Status collect(const Graph& graph,
               std::span<const StatisticRequest> requests,
               const CalibrationSource& source,
               const QuantizeOptions& options,
               int64_t samples);

} // namespace octet
