// SPDX-License-Identifier: Apache-2.0
// Grey images in memory as a data set: feature `x` is f32[N, 1, H, W] = (pixel / 255 - mean) / std.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "octet/dataset.h"

namespace octet {

struct ImageSet {
  std::string description;
  Tensor pixels; ///< u8[N, H, W]
  Tensor labels; ///< u8[N], each below the number of classes
  std::vector<std::string> classes;
  double mean = 0; ///< of pixel / 255 over the training images
  double std = 1;
};

/// Errors: counts of images and labels that differ, a label beyond the classes, no images.
Result<std::shared_ptr<const Dataset>> make_image_dataset(ImageSet set);

/// Fashion-MNIST and MNIST from the folder of the four IDX files, each gzipped or plain. Mean and
/// standard deviation: 0.2860 and 0.3530, 0.1307 and 0.3081.
Result<std::shared_ptr<const Dataset>> open_fashion_mnist(const std::string& folder, Split split);
Result<std::shared_ptr<const Dataset>> open_mnist(const std::string& folder, Split split);

/// 12,000 training and 2,000 test images, 28 x 28, of ten figures drawn by strokes: the same on
/// every machine (see generated.cc).
Result<std::shared_ptr<const Dataset>> open_generated(Split split);

} // namespace octet
