// SPDX-License-Identifier: Apache-2.0
// MaxUnpool: zeros, and each element at the place that MaxPool gave for it, in the order of the
// elements; the last of those that share a place stays.
#include <algorithm>

#include "core/format.h"
#include "ops/shared/movement.h"
#include "ops/shared/validate.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

/// The shape of the tensor that was pooled. Attributes were checked by inference.
Shape pooled_shape(const Node& node, const Shape& x) {
  const std::vector<int64_t> kernel = node.attr_ints("kernel_shape");
  const std::vector<int64_t> strides = node.attr_ints("strides"), pads = node.attr_ints("pads");
  Shape out = x;
  for (size_t i = 0; i < kernel.size(); ++i) {
    const int64_t padded = pads.empty() ? 0 : pads[i] + pads[kernel.size() + i];
    out[i + 2] = (x[i + 2] - 1) * (strides.empty() ? 1 : strides[i]) + kernel[i] - padded;
  }
  return out;
}

class UnpoolStep final : public Step {
 public:
  UnpoolStep(Shape pooled, std::span<const Operand> in, const Operand& out)
      : pooled_(std::move(pooled)), pooled_count_(product(pooled_)),
        pooled_strides_(strides_of(pooled_)), strides_(strides_of(out.shape)),
        is_corner_(pooled_ != out.shape), x_(in[0].id), places_(in[1].id), y_(out.id),
        count_(in[0].count()), y_count_(out.count()) {}

  Result<StepEnd> run(Slots slots, std::byte*, ParallelFor&) const override {
    const auto slot = [&](int32_t id) -> void* { return slots[static_cast<size_t>(id)]; };
    const auto* x = static_cast<const float*>(slot(x_));
    const auto* places = static_cast<const int64_t*>(slot(places_));
    auto* y = static_cast<float*>(slot(y_));
    std::fill(y, y + y_count_, 0.0F);
    for (int64_t i = 0; i < count_; ++i) {
      const int64_t place = places[i];
      if (place < 0 || place >= pooled_count_)
        return error("index {} is out of range; the pool had {} elements", place, pooled_count_);
      y[is_corner_ ? in_corner(place) : place] = x[i];
    }
    return StepEnd::kDone;
  }

 private:
  /// The tensor of the pool lies in the corner of the output.
  int64_t in_corner(int64_t place) const {
    int64_t at = 0;
    for (size_t axis = 0; axis < pooled_.size(); ++axis)
      at += place / pooled_strides_[axis] % pooled_[axis] * strides_[axis];
    return at;
  }

  Shape pooled_;
  int64_t pooled_count_;
  Shape pooled_strides_, strides_;
  bool is_corner_;
  int32_t x_, places_, y_;
  int64_t count_, y_count_;
};

} // namespace

Choice prepare_max_unpool(const PrepareContext& c) {
  if (c.type(0).type != DType::kFloat32) return Choice::refuse("max_unpool: not of type f32");
  class UnpoolPrepared final : public Prepared {
   public:
    explicit UnpoolPrepared(Node node) : node_(std::move(node)) {}
    Result<std::unique_ptr<Step>> bind(std::span<const Operand> in,
                                       std::span<const Operand> out) const override {
      if (in[0].shape != in[1].shape)
        return error("the indices have shape {}, x has {}", to_string(in[1].shape),
                     to_string(in[0].shape));
      return std::unique_ptr<Step>(
          std::make_unique<UnpoolStep>(pooled_shape(node_, in[0].shape), in, out[0]));
    }

   private:
    Node node_;
  };
  Choice choice;
  choice.prepared = std::make_unique<UnpoolPrepared>(c.node);
  choice.name = "max_unpool";
  return choice;
}

} // namespace octet::runtime
