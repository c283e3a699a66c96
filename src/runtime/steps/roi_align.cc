// SPDX-License-Identifier: Apache-2.0
// RoiAlign. The samples of a bin are found once and read in every channel, several channels side by
// side; each sum runs over them in the order of the operator's eval, in double.
#include "core/threads.h"
#include "ops/shared/roi_bins.h"
#include "runtime/kernels/buffer.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

constexpr double kSampleNs = 1;
/// Samples that are looked up again in every channel lie in the cache.
constexpr int64_t kSamplesAtOnce = 256;
constexpr int64_t kChannelsBeside = 4;

/// What the sums and the largest values of a bin have come to.
struct PooledBin {
  double sum[kChannelsBeside] = {};
  double most[kChannelsBeside] = {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
};

struct RoiImage {
  const float* x;
  int64_t channels, height, width;
};

template <int64_t kCount, bool kLargest>
void read_samples(
    const RoiSample* samples, int64_t count, const float* x, int64_t plane, PooledBin& to) {
  for (int64_t i = 0; i < count; ++i)
    for (int k = 0; k < 4; ++k)
      for (int64_t c = 0; c < kCount; ++c) {
        const double v =
            samples[i].weight[k] * static_cast<double>(x[c * plane + samples[i].index[k]]);
        if constexpr (kLargest)
          to.most[c] = std::max(to.most[c], v);
        else
          to.sum[c] += v;
      }
}

class RoiAlignStep final : public Step {
 public:
  RoiAlignStep(const RoiAlignAttrs& attrs, std::span<const Operand> in, const Operand& out)
      : attrs_(attrs), images_(in[0].shape[0]), channels_(in[0].shape[1]), height_(in[0].shape[2]),
        width_(in[0].shape[3]), rois_(out.shape[0]), x_(in[0].id), corners_(in[1].id),
        batch_(in[2].id), y_(out.id) {}

  Result<StepEnd> run(Slots slots, std::byte*, ParallelFor& parallel) const override {
    const auto slot = [&](int32_t id) -> void* { return slots[static_cast<size_t>(id)]; };
    const auto* corners = static_cast<const float*>(slot(corners_));
    const auto* batch = static_cast<const int64_t*>(slot(batch_));
    const RoiImage all{static_cast<const float*>(slot(x_)), channels_, height_, width_};
    auto* y = static_cast<float*>(slot(y_));
    if (height_ == 0 || width_ == 0) return error("x has no elements");
    double taps = 0;
    for (int64_t r = 0; r < rois_; ++r) {
      if (batch[r] < 0 || batch[r] >= images_)
        return error("batch_indices holds {}; x has {} images", batch[r], images_);
      const RoiBin bin = OCTET_TRY(bin_of(corners + 4 * r));
      taps += 4.0 * static_cast<double>(bin.rows) * static_cast<double>(bin.columns);
    }
    const int64_t bins = attrs_.height * attrs_.width;
    if (rois_ == 0) return StepEnd::kDone;
    const double ns =
        kSampleNs * static_cast<double>(channels_ * bins) * (taps / static_cast<double>(rois_) + 1);
    parallel.run(rois_ * bins, grain_for(ns / static_cast<double>(bins)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     const int64_t r = i / bins, row = i % bins / attrs_.width;
                     const auto first = bin_of(corners + 4 * r);
                     RoiImage image = all;
                     image.x += batch[r] * channels_ * height_ * width_;
                     const RoiBin bin = bin_at(*first, row, i % attrs_.width);
                     float* to = y + r * channels_ * bins + i % bins;
                     if (attrs_.largest)
                       pool<true>(bin, image, to, bins);
                     else
                       pool<false>(bin, image, to, bins);
                   }
                 });
    return StepEnd::kDone;
  }

 private:
  Result<RoiBin> bin_of(const float* corners) const {
    const double roi[4] = {corners[0], corners[1], corners[2], corners[3]};
    return first_bin(roi, attrs_);
  }

  /// One bin of every channel, whose results lie `step` apart.
  template <bool kLargest>
  void pool(const RoiBin& bin, const RoiImage& image, float* y, int64_t step) const {
    const int64_t count = bin.rows * bin.columns, plane = image.height * image.width;
    auto* samples = reinterpret_cast<RoiSample*>(
        kernels::chunk_scratch(kernels::Scratch::kTile, kSamplesAtOnce * sizeof(RoiSample)));
    const auto find = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        samples[i - begin] =
            sample_of(bin, i / bin.columns, i % bin.columns, image.height, image.width);
    };
    if (count <= kSamplesAtOnce) find(0, count);
    for (int64_t c = 0; c < image.channels; c += kChannelsBeside) {
      const int64_t beside = std::min(kChannelsBeside, image.channels - c);
      PooledBin pooled;
      for (int64_t begin = 0; begin < count; begin += kSamplesAtOnce) {
        const int64_t end = std::min(begin + kSamplesAtOnce, count);
        if (count > kSamplesAtOnce) find(begin, end);
        const float* x = image.x + c * plane;
        if (beside == kChannelsBeside) {
          read_samples<kChannelsBeside, kLargest>(samples, end - begin, x, plane, pooled);
          continue;
        }
        for (int64_t k = 0; k < beside; ++k) {
          PooledBin one{{pooled.sum[k]}, {pooled.most[k]}};
          read_samples<1, kLargest>(samples, end - begin, x + k * plane, plane, one);
          pooled.sum[k] = one.sum[0];
          pooled.most[k] = one.most[0];
        }
      }
      for (int64_t k = 0; k < beside; ++k) {
        double v = kLargest ? pooled.most[k] : pooled.sum[k] / static_cast<double>(count);
        if (count == 0) v = 0;
        y[(c + k) * step] = static_cast<float>(v);
      }
    }
  }

  RoiAlignAttrs attrs_;
  int64_t images_, channels_, height_, width_, rois_;
  int32_t x_, corners_, batch_, y_;
};

class RoiAlignPrepared final : public Prepared {
 public:
  explicit RoiAlignPrepared(const RoiAlignAttrs& attrs) : attrs_(attrs) {}
  Result<std::unique_ptr<Step>> bind(std::span<const Operand> in,
                                     std::span<const Operand> out) const override {
    return std::unique_ptr<Step>(std::make_unique<RoiAlignStep>(attrs_, in, out[0]));
  }

 private:
  RoiAlignAttrs attrs_;
};

} // namespace

Choice prepare_roi_align(const PrepareContext& c) {
  if (c.type(0).type != DType::kFloat32 || c.type(1).type != DType::kFloat32)
    return Choice::refuse("roi_align: not of type f32");
  const auto attrs = roi_align_attrs(c.node, c.graph.opset(c.node.domain));
  if (!attrs.ok()) return Choice::refuse(attrs.error().message());
  Choice choice;
  choice.prepared = std::make_unique<RoiAlignPrepared>(*attrs);
  choice.name = "roi_align";
  return choice;
}

} // namespace octet::runtime
