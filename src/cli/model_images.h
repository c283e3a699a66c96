// SPDX-License-Identifier: Apache-2.0
// Images as a model takes them: its metadata says how they are prepared, or a file beside it, or
// its input says the size.
#pragma once

#include <memory>
#include <string>

#include "octet/graph.h"
#include "octet/images.h"

namespace octet::cli {

/// What is known of a model's images: its metadata, else preprocessor_config.json beside it, else
/// size and channels of its input; `options` (as of `images:`) change it. Where only the input
/// is known, mean 0 and deviation 1 are taken and stderr says so, unless the options give them.
/// Errors: a model that takes no images, damaged metadata.
Result<ImagePreparation>
model_images(const Graph& graph, const std::string& model, const std::string& options);

/// Where `data` is `images:DIR`, the graph says from here on how they are prepared for it, and so does
/// what is made of it. Errors: as of model_images.
Status keep_image_preparation(Graph& graph, const std::string& model, const std::string& data);

/// A data set `images:DIR` for a model.
Result<std::shared_ptr<const Dataset>> open_model_images(const std::string& spec,
                                                         Split split,
                                                         const Graph& graph,
                                                         const std::string& model);

} // namespace octet::cli
