// SPDX-License-Identifier: Apache-2.0
// Observers: the range of a tensor, or of each of its channels, taken from a stream of batches in
// constant memory. They merge exactly, skip masked elements, and never keep activations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "octet/tensor.h"

namespace octet {

/// Real values from `lo` to `hi`.
struct Range {
  double lo = 0;
  double hi = 0;
  bool operator==(const Range&) const = default;
};

/// The integer or floating-point grid that a range is mapped onto.
struct Scheme {
  DType type = DType::kInt8; ///< an integer of 2 to 16 bits, an FP8 type or f4e2m1
  bool symmetric = true;     ///< the zero point is the middle of the codes (0 for int8)
  bool narrow = false;       ///< leave out the lowest code (weights: [-127, 127])
  int bits = 8; ///< of an integer grid, 2 to those of `type`, in which the codes stay; else 8
  DType scale = DType::kFloat32; ///< of the scale as it is stored, see NumberFormat
  bool operator==(const Scheme&) const = default;
};
/// `int8 symmetric`, `uint8 asymmetric`, `int8 symmetric narrow 4 bits`, `fp8-e4m3fn`.
std::string scheme_text(const Scheme& scheme);

/// The smallest and the largest value seen.
struct MinMax {
  bool operator==(const MinMax&) const = default;
};
/// m = (1 - momentum) * m + momentum * extreme of the batch, from the first batch's extreme on.
/// Batches whose weight fell below 2^-30 are forgotten, which is what makes the memory constant and
/// merging exact.
struct MovingAverage {
  double momentum = 0.01; ///< in [0.005, 1]
  bool operator==(const MovingAverage&) const = default;
};
/// Symmetric: the p-th percentile of the magnitude. Asymmetric: the p-th percentile of the values
/// and the (100 - p)-th.
struct Percentile {
  double p = 99.99; ///< in (50, 100]
  bool operator==(const Percentile&) const = default;
};
/// The magnitude whose 128 levels have the smallest Kullback-Leibler divergence from the histogram,
/// as published for TensorRT, with single numbers that repeat spared as zero is.
struct Entropy {
  bool operator==(const Entropy&) const = default;
};
/// The range with the smallest mean squared error on the scheme's own grid.
struct Mse {
  double clipped = 1; ///< squares of what the range clips count so many times; 1 to 1000
  bool operator==(const Mse&) const = default;
};

/// Of activations: whichever of min-max, percentile, entropy and mse brings the outputs of the
/// quantized network closest to the float network's on examples held back from calibration. An
/// observer by itself gives the extremes.
struct Auto {
  bool operator==(const Auto&) const = default;
};

using Calibrator = std::variant<MinMax, MovingAverage, Percentile, Entropy, Mse, Auto>;

/// `min-max`, `moving-average:0.01`, `percentile:99.99`, `entropy`, `mse`, `mse:3`, `auto`; parse takes them
/// back, the parameter being optional. Errors name the known ones, or the bounds of the parameter.
std::string name(const Calibrator& calibrator);
Result<Calibrator> parse_calibrator(std::string_view text);

class ChannelObserver;

class Observer {
 public:
  /// `axis`: one range for each index of that axis (negative counts from the end); none: one range.
  /// Errors: a parameter out of bounds, a scheme type that has no grid.
  static Result<Observer> create(const Calibrator& calibrator,
                                 const Scheme& scheme = {},
                                 std::optional<int64_t> axis = std::nullopt);
  Observer(Observer&&) noexcept;
  Observer& operator=(Observer&&) noexcept;
  ~Observer();

  /// Takes one batch. `mask` (bool or integer, 0: padding) has a shape that `values`' begins with,
  /// and each of its elements stands for all that follows. Errors leave the observer as it was: a
  /// NaN (named with its index), another number of channels than before, a mask that does not fit.
  Status observe(const Tensor& values, const Tensor* mask = nullptr);
  /// Takes a batch whose elements lie in another order: axis i of `stored` is axis axes[i] of the
  /// tensor (empty: it is the tensor). The result is that of observe(). For observers of one range.
  Status observe_stored(const Tensor& stored, std::span<const int64_t> axes);
  /// Afterwards this one is, bit for bit, what observing the other's batches after its own makes.
  /// Errors: another calibrator, scheme, axis or number of channels.
  Status merge(const Observer& other);

  /// One range, or one for each channel. An error when nothing finite was observed.
  Result<std::vector<Range>> ranges() const;
  /// What an observer of another calibrator would say that has seen the same. Errors: a moving
  /// average, here or there, and one of min-max, which keep no histogram.
  Result<std::vector<Range>> ranges_by(const Calibrator& other) const;

  int64_t observed() const { return observed_; }     ///< finite elements that were counted
  int64_t infinities() const { return infinities_; } ///< seen and left out of the range
  int64_t masked() const { return masked_; }         ///< left out by masks
  /// Bytes that the observer holds; for one channel never more than `kMaxBytesPerChannel`.
  size_t state_bytes() const;
  static constexpr size_t kMaxBytesPerChannel = size_t{40} * 1024;

 private:
  friend class ObserverState; // writes and reads what an observer holds
  Observer() = default;
  Status check_batch(const Tensor& values, const Tensor* mask) const;
  Status take(const Tensor& values, std::span<const int64_t> axes, const Tensor* mask);

  Calibrator calibrator_;
  Scheme scheme_;
  std::optional<int64_t> axis_;
  std::vector<std::unique_ptr<ChannelObserver>> channels_;
  int64_t observed_ = 0;
  int64_t infinities_ = 0;
  int64_t masked_ = 0;
};

} // namespace octet
