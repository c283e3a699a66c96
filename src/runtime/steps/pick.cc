// SPDX-License-Identifier: Apache-2.0
// GatherElements, GatherND, ScatterElements and ScatterND.
#include "runtime/kernels/pick.h"

#include <algorithm>
#include <cstring>

#include "core/format.h"
#include "core/threads.h"
#include "ops/shared/indices.h"
#include "ops/shared/movement.h"
#include "runtime/steps/call.h"
#include "runtime/steps/copies.h"
#include "runtime/steps/indices.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

using kernels::ElementPlaces;
using kernels::Indices;
using kernels::SlicePlaces;

bool is_index(DType type) {
  return type == DType::kInt64 || type == DType::kInt32;
}

/// A step that may meet an index out of range: fn(slots, shared, parallel) returns false then.
template <class Fn>
class PickStep final : public Step {
 public:
  PickStep(Fn fn, const Operand& index, std::vector<int64_t> sizes, size_t shared_bytes)
      : fn_(std::move(fn)), id_(index.id), wide_(index.type == DType::kInt64),
        count_(index.count()), sizes_(std::move(sizes)), shared_bytes_(shared_bytes) {}
  size_t shared_bytes() const override { return shared_bytes_; }
  Result<StepEnd> run(Slots slots, std::byte* shared, ParallelFor& parallel) const override {
    const Indices index{at<const void>(slots, id_), wide_};
    if (fn_(slots, index, shared, parallel)) return StepEnd::kDone;
    return out_of_range(index, count_, sizes_);
  }

 private:
  Fn fn_;
  int32_t id_;
  bool wide_;
  int64_t count_;
  std::vector<int64_t> sizes_;
  size_t shared_bytes_;
};

template <class Fn>
Result<std::unique_ptr<Step>>
pick_step(const Operand& index, std::vector<int64_t> sizes, Fn fn, size_t shared_bytes = 0) {
  return std::unique_ptr<Step>(
      std::make_unique<PickStep<Fn>>(std::move(fn), index, std::move(sizes), shared_bytes));
}

ElementPlaces element_places(const Node& node, const Operand& x, const Operand& index) {
  const int64_t stated = node.attr_int("axis", 0);
  const auto axis = static_cast<size_t>(stated < 0 ? stated + std::ssize(x.shape) : stated);
  ElementPlaces p{.width = width_of(x.type), .sizes = index.shape, .strides = strides_of(x.shape)};
  p.along = std::exchange(p.strides[axis], 0);
  p.size = x.shape[axis];
  return p;
}

SlicePlaces slice_places(const Operand& x, const Operand& index, int64_t batch) {
  const Shape strides = strides_of(x.shape);
  const auto first = static_cast<size_t>(batch);
  const auto width = static_cast<size_t>(index.shape.back());
  SlicePlaces p{.width = width_of(x.type)};
  p.rows = index.count() / index.shape.back();
  int64_t batches = 1;
  for (size_t i = 0; i < first; ++i)
    batches *= x.shape[i];
  p.rows_per_batch = std::max<int64_t>(batches == 0 ? 1 : p.rows / batches, 1);
  p.batch_stride = batch == 0 ? 0 : strides[first - 1];
  p.sizes.assign(x.shape.begin() + batch, x.shape.begin() + batch + index.shape.back());
  for (size_t k = 0; k < width; ++k)
    p.strides.push_back(strides[first + k]);
  p.run = strides[first + width - 1];
  return p;
}

void copy_all(const Operand& x, Slots slots, int32_t y) {
  const auto size_bytes = static_cast<size_t>(x.count() * width_of(x.type));
  if (size_bytes > 0) std::memcpy(at<void>(slots, y), at<const void>(slots, x.id), size_bytes);
}

/// Overloads by what says the places.
bool put(const ElementPlaces& p, Indices i, const void* updates, void* y) {
  return kernels::scatter_elements(p, i, updates, y);
}
bool put(const SlicePlaces& p, Indices i, const void* updates, void* y) {
  return kernels::scatter_slices(p, i, updates, y);
}
template <class T, class U>
bool meet(const ElementPlaces& p, kernels::Meet how, Indices i, const U* updates, T* y) {
  return kernels::meet_elements<T, U>(p, how, i, updates, y);
}
template <class T, class U>
bool meet(const SlicePlaces& p, kernels::Meet how, Indices i, const U* updates, T* y) {
  return kernels::meet_slices<T, U>(p, how, i, updates, y);
}

kernels::Meet meet_of(ScatterReduction reduction) {
  if (reduction == ScatterReduction::kMul) return kernels::Meet::kMul;
  if (reduction == ScatterReduction::kMin) return kernels::Meet::kMin;
  if (reduction == ScatterReduction::kMax) return kernels::Meet::kMax;
  return kernels::Meet::kAdd;
}

template <class T, class Places>
Result<std::unique_ptr<Step>> meet_step(const Places& places,
                                        kernels::Meet how,
                                        std::vector<int64_t> sizes,
                                        std::span<const Operand> in,
                                        const Operand& y) {
  return pick_step(in[1], std::move(sizes),
                   [places, how, x = in[0], updates = in[2].id,
                    y = y.id](Slots slots, Indices index, std::byte*, ParallelFor&) {
                     copy_all(x, slots, y);
                     return meet<T, T>(places, how, index, at<const T>(slots, updates),
                                       at<T>(slots, y));
                   });
}

/// Floats meet in double and are rounded once.
template <class Places>
Result<std::unique_ptr<Step>> meet_floats(const Places& places,
                                          kernels::Meet how,
                                          std::vector<int64_t> sizes,
                                          std::span<const Operand> in,
                                          const Operand& y) {
  const int64_t count = in[0].count();
  return pick_step(
      in[1], std::move(sizes),
      [places, how, count, x = in[0].id, updates = in[2].id,
       y = y.id](Slots slots, Indices index, std::byte* shared, ParallelFor&) {
        auto* sums = static_cast<double*>(static_cast<void*>(shared));
        const auto* from = at<const float>(slots, x);
        std::copy(from, from + count, sums);
        if (!meet<double, float>(places, how, index, at<const float>(slots, updates), sums))
          return false;
        std::transform(sums, sums + count, at<float>(slots, y),
                       [](double v) { return static_cast<float>(v); });
        return true;
      },
      static_cast<size_t>(count) * sizeof(double));
}

template <class Places>
Result<std::unique_ptr<Step>> scatter_step(const Places& places,
                                           ScatterReduction reduction,
                                           std::vector<int64_t> sizes,
                                           std::span<const Operand> in,
                                           const Operand& y) {
  if (reduction == ScatterReduction::kNone)
    return pick_step(in[1], std::move(sizes),
                     [places, x = in[0], updates = in[2].id, y = y.id](Slots slots, Indices index,
                                                                       std::byte*, ParallelFor&) {
                       copy_all(x, slots, y);
                       return put(places, index, at<const void>(slots, updates),
                                  at<void>(slots, y));
                     });
  const kernels::Meet how = meet_of(reduction);
  if (in[0].type == DType::kInt32) return meet_step<int32_t>(places, how, std::move(sizes), in, y);
  if (in[0].type == DType::kInt64) return meet_step<int64_t>(places, how, std::move(sizes), in, y);
  return meet_floats(places, how, std::move(sizes), in, y);
}

/// Why the scatter kernels do not take a node.
std::optional<std::string> refuse_scatter(const PrepareContext& c) {
  if (auto why = refuse_copy(c)) return why;
  if (!is_index(c.type(1).type)) return "pick: indices are neither i64 nor i32";
  const auto reduction = parse_reduction(c.node);
  if (!reduction.ok()) return "pick: an unknown reduction";
  const DType type = c.type(0).type;
  if (*reduction != ScatterReduction::kNone && type != DType::kFloat32 && !is_index(type))
    return fmt::format("pick: no reduction of {}", octet::name(type));
  return std::nullopt;
}

} // namespace

Choice prepare_gather_elements(const PrepareContext& c) {
  if (const auto why = refuse_copy(c)) return Choice::refuse(*why);
  if (!is_index(c.type(1).type)) return Choice::refuse("pick: indices are neither i64 nor i32");
  if (c.type(0).rank() == 0) return Choice::refuse("pick: of a scalar");
  auto bind = [node = c.node](std::span<const Operand> in, std::span<const Operand> out) {
    const ElementPlaces places = element_places(node, in[0], in[1]);
    return pick_step(in[1], {places.size},
                     [places, x = in[0].id, y = out[0].id](Slots slots, Indices index, std::byte*,
                                                           ParallelFor& parallel) {
                       return kernels::gather_elements(places, index, at<const void>(slots, x),
                                                       at<void>(slots, y), parallel);
                     });
  };
  return {bind_with(std::move(bind)), "pick", {}};
}

Choice prepare_gather_nd(const PrepareContext& c) {
  if (const auto why = refuse_copy(c)) return Choice::refuse(*why);
  auto bind = [batch = c.node.attr_int("batch_dims", 0)](std::span<const Operand> in,
                                                         std::span<const Operand> out) {
    const SlicePlaces places = slice_places(in[0], in[1], batch);
    return pick_step(in[1], places.sizes,
                     [places, x = in[0].id, y = out[0].id](Slots slots, Indices index, std::byte*,
                                                           ParallelFor& parallel) {
                       return kernels::gather_slices(places, index, at<const void>(slots, x),
                                                     at<void>(slots, y), parallel);
                     });
  };
  return {bind_with(std::move(bind)), "pick", {}};
}

Choice prepare_scatter_elements(const PrepareContext& c) {
  if (const auto why = refuse_scatter(c)) return Choice::refuse(*why);
  if (c.type(0).rank() == 0) return Choice::refuse("pick: of a scalar");
  auto bind = [node = c.node, reduction = *parse_reduction(c.node)](std::span<const Operand> in,
                                                                    std::span<const Operand> out) {
    const ElementPlaces places = element_places(node, in[0], in[1]);
    return scatter_step(places, reduction, {places.size}, in, out[0]);
  };
  return {bind_with(std::move(bind)), "pick", {}};
}

Choice prepare_scatter_nd(const PrepareContext& c) {
  if (const auto why = refuse_scatter(c)) return Choice::refuse(*why);
  auto bind = [reduction = *parse_reduction(c.node)](std::span<const Operand> in,
                                                     std::span<const Operand> out) {
    const SlicePlaces places = slice_places(in[0], in[1], 0);
    return scatter_step(places, reduction, places.sizes, in, out[0]);
  };
  return {bind_with(std::move(bind)), "pick", {}};
}

} // namespace octet::runtime
