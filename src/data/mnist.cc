// SPDX-License-Identifier: Apache-2.0
// MNIST and Fashion-MNIST: four IDX files in a folder. Sources: yann.lecun.com/exdb/mnist,
// github.com/zalandoresearch/fashion-mnist.
#include <filesystem>

#include "core/format.h"
#include "core/string_util.h"
#include "data/idx.h"
#include "data/images.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

/// The file under any of the names that people have it by.
Result<std::string> find_file(const std::string& folder,
                              const std::string& stem,
                              const std::string& kind,
                              const std::string& way_out) {
  std::error_code code;
  if (!fs::is_directory(folder, code)) {
    return error(ErrorCode::kNotFound, "{} is not a folder; {}", folder, way_out);
  }
  for (const char* separator : {"-", "."}) {
    for (const char* ending : {".gz", ""}) {
      const fs::path path = fs::path(folder) / (stem + separator + kind + "-ubyte" + ending);
      if (fs::is_regular_file(path, code)) return path.string();
    }
  }
  return error(ErrorCode::kNotFound, "no {}-{}-ubyte.gz in {}; {}", stem, kind, folder, way_out);
}

Result<Tensor> read_checked(const std::string& path, const Shape& expected, const char* what) {
  Tensor tensor = OCTET_TRY(read_idx(path));
  bool fits =
      tensor.type() == DType::kUint8 && tensor.rank() == static_cast<int64_t>(expected.size());
  for (size_t i = 1; fits && i < expected.size(); ++i)
    fits = tensor.shape()[i] == expected[i];
  if (fits) return tensor;
  return error("{} holds {} of type {}, {} are u8 of shape [N{}]; name the right file", path,
               to_string(tensor.shape()), name(tensor.type()), what,
               expected.size() == 1 ? "" : ", 28, 28");
}

Result<std::shared_ptr<const Dataset>>
open_idx_folder(const std::string& folder, Split split, ImageSet set, const std::string& way_out) {
  const std::string stem = split == Split::kTrain ? "train" : "t10k";
  const std::string images = OCTET_TRY(find_file(folder, stem + "-images", "idx3", way_out));
  const std::string labels = OCTET_TRY(find_file(folder, stem + "-labels", "idx1", way_out));
  set.pixels = OCTET_TRY(read_checked(images, {0, 28, 28}, "images"));
  set.labels = OCTET_TRY(read_checked(labels, {0}, "labels"));
  if (set.pixels.dim(0) != set.labels.dim(0)) {
    return error("{} holds {} images, {} holds {} labels; both must be of the same set", images,
                 set.pixels.dim(0), labels, set.labels.dim(0));
  }
  set.description +=
      ", " + counted(set.pixels.dim(0), split == Split::kTrain ? "training image" : "test image");
  return make_image_dataset(std::move(set)).with(labels);
}

} // namespace

Result<std::shared_ptr<const Dataset>> open_fashion_mnist(const std::string& folder, Split split) {
  ImageSet set;
  set.description = "Fashion-MNIST";
  set.classes = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
                 "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};
  set.mean = 0.2860;
  set.std = 0.3530;
  return open_idx_folder(folder, split, std::move(set),
                         "get it with: octet data fetch fashion-mnist");
}

Result<std::shared_ptr<const Dataset>> open_mnist(const std::string& folder, Split split) {
  ImageSet set;
  set.description = "MNIST";
  set.classes = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
  set.mean = 0.1307;
  set.std = 0.3081;
  return open_idx_folder(folder, split, std::move(set), "get it with: octet data fetch mnist");
}

} // namespace octet
