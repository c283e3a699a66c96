// SPDX-License-Identifier: Apache-2.0
// Ranges of tensors, and the files in which runtimes exchange them: TensorRT's calibration cache
// (8 to 10), the table of ONNX Runtime's TensorRT provider, and JSON.
// Source: docs/targets.md 3.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "octet/dataset.h"
#include "octet/quantize.h"

namespace octet {

struct TensorRange {
  std::string tensor;
  Range range;
  bool operator==(const TensorRange&) const = default;
};

/// Names of every float input and float result of a graph, of which calibration takes ranges.
Result<std::vector<std::string>> calibrated_tensors(const Graph& graph);

/// Whether what the graph computes for an example depends on the others of its batch, as of a
/// spectrogram that is cut off so far below the largest number of all: whether the first example of
/// the data comes to something else between others that are ten thousand times as large. False where
/// a batch has one example or cannot be cut. Errors: what the data says.
Result<bool>
mixes_examples(const Graph& graph, const Dataset& data, const QuantizeOptions& options = {});

/// Ranges of every float input and float result of a graph, names as in the file; of a graph that
/// mixes_examples, those of one example at a time. The calibrator, samples, batch size, mask,
/// executor and progress of the options count, and `symmetric` (default: true) for the grid that
/// percentile and mse look at. Errors: as calibration, the calibrator `auto`.
Result<std::vector<TensorRange>>
observe_ranges(const Graph& graph, const Dataset& data, const QuantizeOptions& options = {});

enum class RangeFormat {
  kJson,        ///< {"tensor": [lowest, highest], ...}
  kTensorRt,    ///< a heading, then `name: scale`, the bits of the float32 |range| / 127 in hex
  kOnnxRuntime, ///< `name range`, decimal, of the symmetric dynamic range
};
Result<RangeFormat> parse_range_format(std::string_view text); ///< json, tensorrt, onnxruntime

/// TensorRT's heading names the version and calibrator that the cache is for; it ignores a cache
/// with another one.
inline constexpr std::string_view kTensorRtHeading = "TRT-8601-EntropyCalibration2";

/// Errors: a range that is not finite; a line break in a name (but in JSON).
Result<std::string> format_ranges(const std::vector<TensorRange>& ranges,
                                  RangeFormat format,
                                  std::string_view heading = kTensorRtHeading);
/// Symmetric formats give [-range, range]. Errors name the line.
Result<std::vector<TensorRange>> parse_ranges(std::string_view text, RangeFormat format);
/// What a file seems to be: JSON begins with a brace, a cache with "TRT-".
RangeFormat guess_range_format(std::string_view text);

/// How far two ranges of a tensor lie apart.
struct RangeDifference {
  std::string tensor;
  std::optional<Range> before, after; ///< none where a file lacks the tensor
  /// The ends that lie further apart, in steps of the codes of `before` (of `after` where `before`
  /// is empty); of symmetric codes the magnitudes.
  double steps = 0;
  double percent = 0; ///< by which the width, or the magnitude, of the same range changes
};
/// Tensors that differ by more than `tolerance_steps` or are in one list alone: these first, then the
/// most steps.
std::vector<RangeDifference> compare_ranges(const std::vector<TensorRange>& before,
                                            const std::vector<TensorRange>& after,
                                            bool symmetric,
                                            double tolerance_steps);

} // namespace octet
