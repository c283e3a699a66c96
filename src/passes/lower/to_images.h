// SPDX-License-Identifier: Apache-2.0
// What lines [N, C, L], volumes [N, C, D, H, W] and blocks of pixels share when they become images.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "graph/edit.h"
#include "graph/patch.h"

namespace octet::lowering {

/// The axis of one element: the height of a line's image, the depth of a plane's volume.
inline constexpr int64_t kUnitAxis = 2;

/// Squeeze or Unsqueeze of that axis.
ValueId
emit_unit_axis(Patch& patch, const Graph& g, const char* op, ValueId x, const std::string& name);

/// What `to` makes of constant weights or of their codes behind DQ, whose scales run along one of the
/// first `kept` axes: those that `to` leaves as they are. nullopt where `to` gives none or scales run
/// elsewhere.
std::optional<ValueId> moved_weights(Patch& patch,
                                     const Graph& g,
                                     ValueId w,
                                     int64_t kept,
                                     const std::function<std::optional<Tensor>(const Tensor&)>& to);
/// Weights [O, I, ...] in the shape that `to` gives, with the same first two axes.
std::optional<ValueId>
reshaped_weights(Patch& patch,
                 const Graph& g,
                 ValueId w,
                 const std::function<std::optional<Shape>(const Shape&)>& to);

/// Chains of Transpose and Reshape, in which 0 copies a size: no Shape reads what a product makes.
class Moves {
 public:
  Moves(Patch& patch, std::string name) : patch_(patch), name_(std::move(name)) {}

  ValueId turned(ValueId x, std::vector<int64_t> perm) {
    Attributes a;
    a["perm"].value = std::move(perm);
    return patch_.emit("Transpose", {x}, std::move(a), fresh());
  }
  ValueId reshaped(ValueId x, std::vector<int64_t> sizes) {
    const std::string name = fresh();
    return patch_.emit("Reshape", {x, patch_.constant(name + "/sizes", int_list(sizes))}, {}, name);
  }

 private:
  std::string fresh() { return name_ + "/move_" + std::to_string(count_++); }

  Patch& patch_;
  std::string name_;
  int count_ = 0;
};

/// [A, B, kd, kh, kw] as [A, kd B, kh, kw].
Tensor planes_as_channels(const Tensor& w);
/// Numbers of channels, `times` times one after another.
Tensor repeated(const Tensor& channels, int64_t times);

} // namespace octet::lowering
