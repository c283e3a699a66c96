// SPDX-License-Identifier: Apache-2.0
// Options of `octet engine build` for TensorRT's implicit quantization.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/outputs.h"
#include <nlohmann/json_fwd.hpp>

#include "octet/engine_calibration.h"

namespace CLI {
class App;
} // namespace CLI

namespace octet::cli {

class EngineCalibrationOptions {
 public:
  void define(CLI::App& app);
  /// What can be told without TensorRT: options that lack each other, files that cannot be read or
  /// written. `used`: all other files of the command.
  Status check(const UsedFiles& used, const Common& common);
  std::optional<EngineCalibrator> calibrator() const { return calibrator_; }
  const std::string& cache_file() const { return cache_file_; }
  const std::string& data() const { return data_; }

  /// Takes a line for the user.
  using Say = std::function<void(const std::string& line)>;
  /// Reads the cache, or opens the data where there is none. `version`: TensorRT's.
  Status open(const Graph& graph,
              const std::string& model,
              const std::string& version,
              const Say& say,
              const std::function<bool(int64_t done, int64_t total)>& progress,
              const Common& common);
  /// Null without a calibrator, and before open().
  EngineCalibration* calibration() { return calibration_ ? &*calibration_ : nullptr; }

  /// Behind the build: looks at the cache that TensorRT wrote.
  void finish(const std::string& version);
  /// Tensors of the model that there is no range of.
  const std::vector<std::string>& missing() const { return missing_; }
  nlohmann::ordered_json json() const;
  std::string text() const; ///< "entropy over 512 examples of Fashion-MNIST"; empty: no calibrator

 private:
  Status read_cache(const std::string& version, const Say& say);
  Status open_data(const Graph& graph,
                   const std::string& model,
                   const Say& say,
                   const std::function<bool(int64_t done, int64_t total)>& progress,
                   const Common& common);

  std::string calibrate_, data_, cache_file_;
  std::vector<std::string> zeros_;
  int64_t limit_ = 512, batch_ = QuantizeOptions{}.batch_size, max_length_ = 0;
  std::optional<EngineCalibrator> calibrator_;
  bool from_cache_ = false;
  std::string cache_text_; ///< of the file that was read
  std::string heading_;    ///< its first line
  std::string written_;    ///< the cache that TensorRT wrote
  std::vector<std::string> tensors_, missing_;
  std::string data_description_;
  std::optional<EngineCalibration> calibration_;
};

} // namespace octet::cli
