// SPDX-License-Identifier: Apache-2.0
// Image files as a data set. Files are read when they are asked for; what they become is kept as
// long as it takes no more than kKeptBytes.
#include <array>
#include <mutex>
#include <new>

#include "core/format.h"
#include "core/string_util.h"
#include "core/threads.h"
#include "data/image_list.h"
#include "data/pixels.h"

#include "octet/images.h"

namespace octet {
namespace {

constexpr int64_t kKeptBytes = int64_t{1} << 30;
constexpr size_t kMaxImageBytes = size_t{256} << 20;

using Kept = std::shared_ptr<const std::vector<uint8_t>>;

Result<std::shared_ptr<Buffer>> map_image(const std::string& path) {
  std::shared_ptr<Buffer> buffer = OCTET_TRY(Buffer::map(path));
  if (buffer->bytes().size() > kMaxImageBytes)
    return error("{} has {} bytes, above the limit of {} for an image", path,
                 buffer->bytes().size(), kMaxImageBytes);
  return buffer;
}

Result<ImageHeader> header_of(const std::string& path) {
  return read_image_header(OCTET_TRY(map_image(path))->bytes(), path);
}

/// Runs `one(i)` for each of `count`, in parallel; the error of the first that fails.
template <class One>
Status for_each_image(ThreadPool& pool, int64_t count, const One& one) {
  std::mutex mutex;
  int64_t first = count;
  std::optional<Error> failure;
  const auto note = [&](int64_t i, Error error) {
    const std::lock_guard lock(mutex);
    if (i >= first) return;
    first = i;
    failure = std::move(error);
  };
  pool.run(count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      try {
        if (Status status = one(i); !status.ok()) note(i, std::move(status).error());
      } catch (const std::bad_alloc&) {
        note(i, error("no memory for an image"));
      }
    }
  });
  if (failure) return *std::move(failure);
  return ok_status();
}

class ImageFiles final : public Dataset {
 public:
  ImageFiles(ImageList list, ImagePreparation preparation, std::shared_ptr<ThreadPool> pool)
      : list_(std::move(list)), to_(std::move(preparation)), pool_(std::move(pool)),
        kept_(list_.files.size()) {
    for (size_t c = 0; c < static_cast<size_t>(to_.channels); ++c) {
      const double mean = to_.mean[to_.mean.size() > 1 ? c : 0];
      const double std = to_.std[to_.std.size() > 1 ? c : 0];
      for (size_t i = 0; i < 256; ++i)
        tables_[c][i] = static_cast<float>((static_cast<double>(i) / 255 - mean) / std);
    }
    TypeInfo type;
    type.type = DType::kFloat32;
    type.shape = {Dim::symbol("N"), Dim(to_.channels), Dim(to_.height), Dim(to_.width)};
    features_.emplace_back("x", std::move(type));
  }

  std::string description() const override { return list_.description; }
  int64_t size() const override { return std::ssize(list_.files); }
  const std::vector<std::pair<std::string, TypeInfo>>& features() const override {
    return features_;
  }
  const std::vector<std::string>& classes() const override { return list_.classes; }
  const ImagePreparation* images() const override { return &to_; }
  std::string file(int64_t index) const override { return list_.files[static_cast<size_t>(index)]; }

  Result<Batch> batch(std::span<const int64_t> indices) const override {
    for (const int64_t index : indices)
      if (index < 0 || index >= size())
        return error("example {} is asked for, {} has {}; ask for 0 to {}", index,
                     list_.description, size(), size() - 1);
    const auto n = std::ssize(indices);
    const int64_t each = to_.channels * to_.height * to_.width;
    Tensor x = OCTET_TRY(Tensor::zeros(DType::kFloat32, {n, to_.channels, to_.height, to_.width}));
    float* out = x.mutable_data<float>().data();
    OCTET_TRY(for_each_image(*pool_, n, [&](int64_t i) -> Status {
      write_planes(*OCTET_TRY(bytes_of(indices[static_cast<size_t>(i)])), out + i * each);
      return ok_status();
    }));
    Batch batch;
    batch.inputs.emplace_back("x", std::move(x));
    if (list_.classes.empty()) return batch;
    batch.labels = OCTET_TRY(Tensor::zeros(DType::kInt64, {n}));
    const auto labels = batch.labels.mutable_data<int64_t>();
    for (size_t i = 0; i < indices.size(); ++i)
      labels[i] = list_.labels[static_cast<size_t>(indices[i])];
    return batch;
  }

 private:
  Result<Kept> bytes_of(int64_t index) const {
    const auto i = static_cast<size_t>(index);
    {
      const std::lock_guard lock(mutex_);
      if (kept_[i]) return kept_[i];
    }
    const std::string& path = list_.files[i];
    Pixels pixels = OCTET_TRY(decode_image(OCTET_TRY(map_image(path))->bytes(), path));
    pixels = OCTET_TRY_WITH(prepared(std::move(pixels), to_), path);
    const auto bytes = std::make_shared<const std::vector<uint8_t>>(std::move(pixels.values));
    const std::lock_guard lock(mutex_);
    if (kept_bytes_ + std::ssize(*bytes) <= kKeptBytes && !kept_[i]) {
      kept_bytes_ += std::ssize(*bytes);
      kept_[i] = bytes;
    }
    return bytes;
  }

  /// From channels side by side to a plane for each.
  void write_planes(const std::vector<uint8_t>& bytes, float* out) const {
    const auto channels = static_cast<size_t>(to_.channels);
    for (size_t c = 0; c < channels; ++c)
      for (size_t i = c; i < bytes.size(); i += channels)
        *out++ = tables_[c][bytes[i]];
  }

  ImageList list_;
  ImagePreparation to_;
  std::shared_ptr<ThreadPool> pool_;
  std::array<std::array<float, 256>, 3> tables_{};
  std::vector<std::pair<std::string, TypeInfo>> features_;
  mutable std::mutex mutex_;
  mutable std::vector<Kept> kept_;
  mutable int64_t kept_bytes_ = 0;
};

/// Size and channels that are not known, from the files.
Status complete(ImagePreparation& p, const ImageList& list, ThreadPool& pool) {
  if (p.width == 0 || p.channels == 0) {
    std::vector<ImageHeader> headers(list.files.size());
    OCTET_TRY(for_each_image(pool, std::ssize(headers), [&](int64_t i) -> Status {
      const auto at = static_cast<size_t>(i);
      headers[at] = OCTET_TRY(header_of(list.files[at]));
      return ok_status();
    }));
    bool grey = true;
    for (size_t i = 0; i < headers.size(); ++i) {
      grey = grey && headers[i].grey;
      if (p.width == 0 &&
          (headers[i].width != headers[0].width || headers[i].height != headers[0].height))
        return error("{} has {} x {} pixels, {} has {} x {}; say what size they become, such as "
                     "?size=64 or ?size=64&crop=center",
                     list.files[0], headers[0].width, headers[0].height, list.files[i],
                     headers[i].width, headers[i].height);
    }
    if (p.width == 0) {
      p.width = headers[0].width;
      p.height = headers[0].height;
    }
    if (p.channels == 0) p.channels = grey ? 1 : 3;
  }
  constexpr double kMiddle = 0.5;
  if (p.mean.empty()) p.mean = {kMiddle};
  if (p.std.empty()) p.std = {kMiddle};
  for (const auto& [key, values] : {std::pair("mean", &p.mean), std::pair("std", &p.std)})
    if (values->size() > 1 && std::ssize(*values) != p.channels)
      return error("{} of images has {} numbers, the images have {}; give one, or one for each "
                   "channel",
                   key, values->size(), counted(p.channels, "channel"));
  return ok_status();
}

Result<std::shared_ptr<const Dataset>> make_image_files(ImageList list, ImagePreparation to) {
  auto pool = std::make_shared<ThreadPool>(0);
  OCTET_TRY(complete(to, list, *pool));
  return std::shared_ptr<const Dataset>(
      std::make_shared<ImageFiles>(std::move(list), std::move(to), std::move(pool)));
}

} // namespace

bool is_image_spec(std::string_view spec) {
  return spec.substr(0, spec.find_first_of(":?")) == "images";
}

Result<std::string> image_options_of(std::string_view text) {
  const TextSpec spec = OCTET_TRY(parse_text_spec(text));
  static const std::vector<std::string> keys = {"size", "crop", "resize", "filter", "color",
                                                "mean", "std",  "labels", "test"};
  OCTET_TRY(spec.allow(keys));
  std::string options;
  for (const auto& [key, value] : spec.options)
    if (key != "labels" && key != "test")
      options += fmt::format("{}{}={}", options.empty() ? "" : "&", key, value);
  return options;
}

Result<std::shared_ptr<const Dataset>>
open_images(std::string_view text, Split split, const ImagePreparation& known) {
  const TextSpec spec = OCTET_TRY(parse_text_spec(text));
  if (!is_image_spec(text) || spec.places.empty())
    return error("data set \"{}\" is incomplete; write images:DIR", text);
  ImagePreparation to = OCTET_TRY(with_image_options(known, OCTET_TRY(image_options_of(text))));
  return make_image_files(OCTET_TRY(list_images(spec, split)), std::move(to));
}

Result<std::shared_ptr<const Dataset>> open_image_files(std::vector<std::string> files,
                                                        const ImagePreparation& preparation) {
  if (files.empty()) return error("no image was named");
  ImageList list;
  list.description = counted(std::ssize(files), "image");
  list.files = std::move(files);
  return make_image_files(std::move(list), preparation);
}

} // namespace octet
