// SPDX-License-Identifier: Apache-2.0
// How images become what a model takes, and folders of PNG and JPEG files as data sets.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "octet/dataset.h"

namespace octet {

enum class ImageCrop {
  kNone,   ///< the whole image is scaled to the size, whatever its shape
  kCenter, ///< scaled until it covers the size, and the middle taken
};
enum class ImageFilter { kBilinear, kBicubic }; ///< with antialiasing, bit for bit as Pillow's

/// From pixels to the feature f32[N, channels, height, width] = (pixel / 255 - mean) / std.
struct ImagePreparation {
  int64_t width = 0, height = 0; ///< 0: that of the files, which must all have one
  ImageCrop crop = ImageCrop::kNone;
  int64_t shorter_side = 0; ///< with kCenter: what the shorter side is scaled to; 0: what covers
  ImageFilter filter = ImageFilter::kBilinear;
  int64_t channels = 0;          ///< 1: grey, 3: RGB; 0: 1 where all files are grey, else 3
  std::vector<double> mean, std; ///< of each channel; empty: 0.5

  bool operator==(const ImagePreparation&) const = default;
};

/// Changes what `size=WIDTHxHEIGHT` (or `size=SIDE`), `crop=none|center`, `resize=SIDE`,
/// `filter=bilinear|bicubic`, `color=gray|rgb`, `mean=A,B,C` and `std=A,B,C` say, joined by `&`.
Result<ImagePreparation> with_image_options(ImagePreparation from, std::string_view options);

/// What the model's metadata says. Errors: it is damaged.
Result<std::optional<ImagePreparation>> image_preparation(const Graph& graph);
void set_image_preparation(Graph& graph, const ImagePreparation& preparation);
/// The file preprocessor_config.json of Hugging Face's model folders. Errors: a resampling that
/// octet does not have, values out of range.
Result<ImagePreparation> parse_preprocessor_config(std::string_view text);

/// The options of a spec `images:DIR?...` that say how images are prepared. Errors: unknown ones.
Result<std::string> image_options_of(std::string_view spec);
/// Whether a data set is one that open_images knows.
bool is_image_spec(std::string_view spec);
/// `images:DIR?key=value&key=value` (docs/data.md). `known` is what the model says; options of the
/// spec count before it. Errors: no images, files of several sizes without a size.
Result<std::shared_ptr<const Dataset>>
open_images(std::string_view spec, Split split, const ImagePreparation& known = {});
/// These files, unlabelled.
Result<std::shared_ptr<const Dataset>> open_image_files(std::vector<std::string> files,
                                                        const ImagePreparation& preparation);
/// The PNG and JPEG files in a folder, by name.
Result<std::vector<std::string>> image_files_in(const std::string& folder);

} // namespace octet
