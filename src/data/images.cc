// SPDX-License-Identifier: Apache-2.0
#include "data/images.h"

#include <array>

#include "core/check.h"
#include "core/format.h"

#include "octet/images.h"

namespace octet {
namespace {

class ImageDataset final : public Dataset {
 public:
  explicit ImageDataset(ImageSet set) : set_(std::move(set)) {
    for (size_t i = 0; i < table_.size(); ++i)
      table_[i] = static_cast<float>((static_cast<double>(i) / 255 - set_.mean) / set_.std);
    preparation_.width = set_.pixels.dim(2);
    preparation_.height = set_.pixels.dim(1);
    preparation_.channels = 1;
    preparation_.mean = {set_.mean};
    preparation_.std = {set_.std};
    TypeInfo type;
    type.type = DType::kFloat32;
    type.shape = {Dim::symbol("N"), Dim(1), Dim(set_.pixels.dim(1)), Dim(set_.pixels.dim(2))};
    features_.emplace_back("x", std::move(type));
  }
  std::string description() const override { return set_.description; }
  int64_t size() const override { return set_.pixels.dim(0); }
  const std::vector<std::pair<std::string, TypeInfo>>& features() const override {
    return features_;
  }
  const std::vector<std::string>& classes() const override { return set_.classes; }
  const ImagePreparation* images() const override { return &preparation_; }

  Result<Batch> batch(std::span<const int64_t> indices) const override {
    const auto n = static_cast<int64_t>(indices.size());
    const int64_t pixels_each = set_.pixels.dim(1) * set_.pixels.dim(2);
    Tensor x =
        OCTET_TRY(Tensor::zeros(DType::kFloat32, {n, 1, set_.pixels.dim(1), set_.pixels.dim(2)}));
    Tensor y = OCTET_TRY(Tensor::zeros(DType::kInt64, {n}));
    const auto source = set_.pixels.data<uint8_t>();
    const auto labels = set_.labels.data<uint8_t>();
    const auto x_out = x.mutable_data<float>();
    const auto y_out = y.mutable_data<int64_t>();
    size_t at = 0;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t index = indices[static_cast<size_t>(i)];
      if (index < 0 || index >= size()) {
        return error("example {} is asked for, {} has {}; ask for 0 to {}", index, set_.description,
                     size(), size() - 1);
      }
      y_out[static_cast<size_t>(i)] = labels[static_cast<size_t>(index)];
      const auto image = source.subspan(static_cast<size_t>(index * pixels_each),
                                        static_cast<size_t>(pixels_each));
      for (const uint8_t pixel : image)
        x_out[at++] = table_[pixel];
    }
    Batch out;
    out.inputs.emplace_back("x", std::move(x));
    out.labels = std::move(y);
    return out;
  }

 private:
  ImageSet set_;
  ImagePreparation preparation_;
  std::array<float, 256> table_{};
  std::vector<std::pair<std::string, TypeInfo>> features_;
};

} // namespace

Result<std::shared_ptr<const Dataset>> make_image_dataset(ImageSet set) {
  OCTET_CHECK(set.pixels.rank() == 3 && set.labels.rank() == 1);
  if (set.pixels.dim(0) != set.labels.dim(0)) {
    return error("{}: {} images and {} labels; both files must be of the same set", set.description,
                 set.pixels.dim(0), set.labels.dim(0));
  }
  if (set.pixels.count() == 0) return error("{} has no images", set.description);
  const auto labels = set.labels.data<uint8_t>();
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] >= set.classes.size()) {
      return error("{}: label {} of image {} is beyond the {} classes; the label file is damaged",
                   set.description, labels[i], i, set.classes.size());
    }
  }
  return std::shared_ptr<const Dataset>(std::make_shared<ImageDataset>(std::move(set)));
}

} // namespace octet
