// SPDX-License-Identifier: Apache-2.0
// NumPy arrays as a data set: the first axis of each is the example.
#pragma once

#include <memory>
#include <string>

#include "data/npz.h"

#include "octet/dataset.h"

namespace octet {

/// An array named y, label or labels holds the classes (integers, [N]), all others are features.
/// Names that end in _train and _test belong to one split, the others to both.
/// Errors: no features, first axes that differ, labels that are no class numbers.
Result<std::shared_ptr<const Dataset>>
make_array_dataset(const NamedTensors& all, Split split, const std::string& source);

/// `path` is an .npz file.
Result<std::shared_ptr<const Dataset>> open_npz(const std::string& path, Split split);
/// `list` is `x=FILE,y=FILE,...` of .npy files; `FILE` alone is x.
Result<std::shared_ptr<const Dataset>> open_npy(const std::string& list, Split split);

} // namespace octet
