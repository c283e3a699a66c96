// SPDX-License-Identifier: Apache-2.0
// TensorRT's calibrator over EngineCalibration: batches go to the GPU, caches come and go.
#pragma once

#include <memory>

#include "tensorrt/trt.h"

namespace octet::tensorrt {

class Calibrator {
 public:
  virtual ~Calibrator() = default;
  /// Makes it the calibrator of a build, in the shape of its batches. It must outlive the
  /// configuration.
  virtual Status set(nvinfer1::IBuilder& builder, nvinfer1::IBuilderConfig& config) = 0;
  /// The first error of its calls, behind which the build failed.
  virtual const Status& status() const = 0;
};

/// Null where the options ask for none. Errors: a TensorRT without calibrators.
Result<std::unique_ptr<Calibrator>> make_calibrator(const nvinfer1::INetworkDefinition& network,
                                                    const EngineBuildOptions& options);

} // namespace octet::tensorrt
