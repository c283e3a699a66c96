// SPDX-License-Identifier: Apache-2.0
// The files beside a model that hold the bytes of its large tensors.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "octet/tensor.h"

namespace octet::onnx {

/// The external data files of one model, each mapped once.
class ExternalFiles {
 public:
  /// `folder`: where locations start; empty: every location is refused.
  explicit ExternalFiles(std::string folder) : folder_(std::move(folder)) {}

  /// The mapped file. Refused: absolute locations, "..", links that lead out of the folder, and
  /// whatever is no regular file.
  Result<std::shared_ptr<const Buffer>> open(const std::string& location);
  /// What was opened so far.
  std::vector<std::string> locations() const;

 private:
  std::string folder_;
  std::map<std::string, std::shared_ptr<const Buffer>> files_;
};

} // namespace octet::onnx
