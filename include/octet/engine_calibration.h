// SPDX-License-Identifier: Apache-2.0
// TensorRT's implicit quantization (8.6 to 10): a float network, of which TensorRT takes ranges
// while it builds the engine. What its calibrators ask for: batches of a data set, one at a time,
// and the calibration cache. Works without TensorRT.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "octet/dataset.h"
#include "octet/graph.h"
#include "octet/quantize.h"

namespace octet {

/// TensorRT's EntropyCalibration2 and MinMaxCalibration.
enum class EngineCalibrator { kEntropy, kMinMax };
std::string_view name(EngineCalibrator calibrator); ///< "entropy", "minmax"
Result<EngineCalibrator> parse_engine_calibrator(std::string_view text);

/// The first line of a cache by this calibrator in a TensorRT ("8.6.1"):
/// "TRT-8601-EntropyCalibration2".
Result<std::string> cache_heading(std::string_view version, EngineCalibrator calibrator);
/// The calibrator that a cache says it is from. Errors: no cache; another calibrator.
Result<EngineCalibrator> calibrator_of_cache(std::string_view cache);

/// A calibration cache for one version of TensorRT and one model.
struct ReadyCache {
  std::string text;    ///< with the heading of that version, without which it would be ignored
  std::string heading; ///< that it came with
  int64_t known = 0;   ///< tensors of the model that it has ranges of
  std::vector<std::string> missing; ///< tensors of the model that it has none of
};
/// `tensors`: the model's (`calibrated_tensors`). Errors: no cache, one of another calibrator, one
/// that has ranges of none of the tensors.
Result<ReadyCache> ready_cache(std::string_view cache,
                               EngineCalibrator calibrator,
                               std::string_view version,
                               const std::vector<std::string>& tensors);

/// What a calibrator is fed with: a cache, or data.
class EngineCalibration {
 public:
  /// TensorRT reads all ranges from `cache` (ReadyCache::text).
  static EngineCalibration from_cache(std::string cache);

  struct Data {
    int64_t samples = 0; ///< evenly spaced, as calibration takes them; 0: all
    int64_t batch = 0;
    std::function<bool(int64_t done, int64_t total)> progress = nullptr; ///< false: stop
    /// Takes the cache that TensorRT writes.
    std::function<void(std::string_view cache)> store = nullptr;
  };
  /// TensorRT calibrates in one shape, so that examples which fill no batch are left out (where the
  /// graph fixes the batch the last one is filled up from the first example on). Graph and data set
  /// must outlive it. Errors: those of the first batch, which is read at once.
  static Result<EngineCalibration>
  from_data(const Graph& graph, std::shared_ptr<const Dataset> data, Data options);

  int64_t batch_size() const { return batch_; } ///< 1 of a cache
  int64_t samples() const { return samples_; }  ///< that will be given; 0 of a cache
  int64_t left_out() const { return left_out_; }
  int64_t given() const { return given_; } ///< examples so far
  /// The shape of each input, the same in all batches; empty of a cache.
  const std::vector<std::pair<std::string, Shape>>& shapes() const { return shapes_; }
  std::string_view cache() const { return cache_; } ///< empty: TensorRT is to calibrate

  /// The inputs of these names of the next batch; none at the end. Errors: data that cannot be
  /// read, a batch of another shape, an input that the model lacks, a cache that TensorRT does not
  /// take and so asks for batches.
  Result<std::optional<std::vector<Tensor>>> next(std::span<const char* const> names);
  /// The cache that TensorRT writes. One that it was given is not stored again.
  void store(std::string_view cache) const;

 private:
  EngineCalibration() = default;
  Status check_shapes(const std::vector<Tensor>& batch) const;

  std::shared_ptr<const Dataset> data_;
  CalibrationSource source_;
  std::optional<std::vector<Tensor>> first_; ///< read, and not yet given
  std::vector<std::pair<std::string, Shape>> shapes_;
  std::string cache_;
  Data options_;
  int64_t batch_ = 1, samples_ = 0, left_out_ = 0, given_ = 0, batches_ = 0;
};

} // namespace octet
