// SPDX-License-Identifier: Apache-2.0
// Axes of one element, and weights without them or with them.
#include "passes/lower/to_images.h"

#include "ops/qdq/site.h"
#include "ops/shared/movement.h"
#include "passes/lower/context.h"

namespace octet::lowering {

ValueId
emit_unit_axis(Patch& patch, const Graph& g, const char* op, ValueId x, const std::string& name) {
  Attributes attributes;
  std::vector<ValueId> inputs = {x};
  if (g.opset() < 13)
    attributes["axes"].value = std::vector<int64_t>{kUnitAxis};
  else
    inputs.push_back(patch.constant(name + "/axis", Tensor::of<int64_t>({1}, {kUnitAxis})));
  return patch.emit(op, std::move(inputs), std::move(attributes), name);
}

std::optional<ValueId>
moved_weights(Patch& patch,
              const Graph& g,
              ValueId w,
              int64_t kept,
              const std::function<std::optional<Tensor>(const Tensor&)>& to) {
  const auto moved = [&](ValueId id) -> std::optional<ValueId> {
    const Tensor* t = g.constant(id);
    auto made = t != nullptr ? to(*t) : std::nullopt;
    if (!made) return std::nullopt;
    return patch.constant(g.value(id).name + "/image", *std::move(made));
  };
  if (g.constant(w) != nullptr) return moved(w);
  const auto site = qdq::read_dequantize(g, w, {.written_zero = false});
  if (!site) return std::nullopt;
  const Node& dq = g.node(site->node);
  const int64_t axis = site->grid.per_tensor() ? 0 : dq.attr_int("axis", 1);
  const auto codes = axis >= 0 && axis < kept ? moved(site->codes) : std::nullopt;
  if (!codes) return std::nullopt;
  std::vector<ValueId> inputs = dq.inputs;
  inputs[0] = *codes;
  return patch.emit(dq.op_type, std::move(inputs), dq.attributes, dq.name + "/image", dq.domain);
}

std::optional<ValueId>
reshaped_weights(Patch& patch,
                 const Graph& g,
                 ValueId w,
                 const std::function<std::optional<Shape>(const Shape&)>& to) {
  return moved_weights(patch, g, w, 2, [&](const Tensor& t) -> std::optional<Tensor> {
    auto shape = to(t.shape());
    if (!shape) return std::nullopt;
    return t.reshaped(*std::move(shape)).value();
  });
}

Tensor planes_as_channels(const Tensor& w) {
  constexpr int64_t kPlanesFirst[] = {0, 2, 1, 3, 4};
  return permuted(w, kPlanesFirst)
      .reshaped({w.dim(0), w.dim(1) * w.dim(2), w.dim(3), w.dim(4)})
      .value();
}

Tensor repeated(const Tensor& channels, int64_t times) {
  std::vector<int64_t> from(static_cast<size_t>(channels.count() * times));
  for (size_t i = 0; i < from.size(); ++i)
    from[i] = static_cast<int64_t>(i) % channels.count();
  return take(channels, {std::ssize(from)}, from).value();
}

} // namespace octet::lowering
