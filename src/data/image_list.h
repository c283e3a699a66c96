// SPDX-License-Identifier: Apache-2.0
// Which image files a data set has, and their classes.
#pragma once

#include <string>
#include <vector>

#include "data/text_spec.h"

#include "octet/dataset.h"

namespace octet {

struct ImageList {
  std::string description;          ///< `pets, 300 test images`
  std::vector<std::string> files;   ///< in the order of their classes and names
  std::vector<int32_t> labels;      ///< one a file; none without classes
  std::vector<std::string> classes; ///< folders' names, sorted; of a CSV its labels
};

/// A folder with a folder for each class, or with `train` and `test` folders of such, or with the
/// images themselves (unlabelled, or labelled by `labels=FILE.csv`); `test=` holds out a share or
/// names another folder or CSV.
/// Errors name the place: nothing there, no image, a class without any, a label that training does
/// not have, files beside folders of classes.
Result<ImageList> list_images(const TextSpec& spec, Split split);

/// Whether a file is an image, by its ending.
bool is_image_name(std::string_view name);

} // namespace octet
