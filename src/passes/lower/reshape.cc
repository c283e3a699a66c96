// SPDX-License-Identifier: Apache-2.0
// Reshape and Flatten of what is stored in another order. Where axes that are merged follow one
// another as stored, and where one is split, the elements stay where they are and the order of axes
// tells the rest; flattening an NHWC image keeps its order too, and the product behind it turns its
// weights instead. Merged axes that lie apart are brought together where what comes out is an image
// in NHWC (shuffled channels, pixels from channels). Elsewhere the elements are brought to the
// source's order.
#include <algorithm>

#include "graph/edit.h"
#include "passes/lower/axes.h"
#include "passes/lower/context.h"

namespace octet::lowering {
namespace {

/// [C, H, W] where the node turns [N, C, H, W] to [N, C*H*W].
std::optional<std::array<int64_t, 3>> flattened_image(const TypeInfo& x, const TypeInfo& y) {
  const auto image = known_image(x);
  if (!image || !y.has_rank() || y.rank() != 2) return std::nullopt;
  const Dim columns = Dim((*image)[0]) * Dim((*image)[1]) * Dim((*image)[2]);
  return (*y.shape)[1] == columns ? image : std::nullopt;
}

/// Axes of x that hold the elements of axes of y: one of them has a single axis.
struct Group {
  std::vector<int64_t> from, to;
};

/// Axes from `at` on whose product is `whole`, two at least; empty: there are none such.
std::vector<int64_t> factors(const std::vector<Dim>& dims, size_t at, const Dim& whole) {
  std::vector<int64_t> out;
  Dim product(1);
  for (; at < dims.size(); ++at) {
    product = product * dims[at];
    out.push_back(static_cast<int64_t>(at));
    if (out.size() > 1 && product == whole) return out;
  }
  return {};
}

/// nullopt: the axes do not fall into such groups.
std::optional<std::vector<Group>> groups_of(const std::vector<Dim>& from,
                                            const std::vector<Dim>& to) {
  std::vector<Group> out;
  size_t i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    const auto a = static_cast<int64_t>(i), b = static_cast<int64_t>(j);
    Group group{{a}, {b}};
    if (!(from[i] == to[j])) {
      if (auto merged = factors(from, i, to[j]); !merged.empty())
        group.from = std::move(merged);
      else if (auto parts = factors(to, j, from[i]); !parts.empty())
        group.to = std::move(parts);
      else
        return std::nullopt;
    }
    i += group.from.size();
    j += group.to.size();
    out.push_back(std::move(group));
  }
  // What is left are axes of 1, which belong to any group: these are left to the source's order.
  if (i != from.size() || j != to.size()) return std::nullopt;
  return out;
}

/// The axes of y in the order in which the groups are stored; nullopt: merged axes lie apart.
std::optional<std::vector<int64_t>> stored_groups(const std::vector<Group>& groups,
                                                  const std::vector<int64_t>& stored) {
  std::vector<int64_t> out;
  for (size_t at = 0; at < stored.size();) {
    const auto group = std::find_if(groups.begin(), groups.end(),
                                    [&](const Group& g) { return g.from.front() == stored[at]; });
    if (group == groups.end() || at + group->from.size() > stored.size() ||
        !std::equal(group->from.begin(), group->from.end(),
                    stored.begin() + static_cast<std::ptrdiff_t>(at)))
      return std::nullopt;
    out.insert(out.end(), group->to.begin(), group->to.end());
    at += group->from.size();
  }
  return out;
}

/// The axes of x in the order in which y has theirs in NHWC.
std::vector<int64_t> as_nhwc(const std::vector<Group>& groups) {
  std::vector<int64_t> out;
  for (const int64_t axis : Layout::kNhwc.axes(4))
    for (const Group& group : groups)
      if (group.to.front() == axis) out.insert(out.end(), group.from.begin(), group.from.end());
  return out;
}

/// The shape to give to Reshape for axes of `y` as stored: -1 for the one whose size is open.
std::optional<std::vector<int64_t>> target_of(const std::vector<Dim>& y,
                                              const std::vector<int64_t>& stored) {
  std::vector<int64_t> out;
  for (const int64_t axis : stored) {
    const auto size = y[static_cast<size_t>(axis)].maybe_value();
    if (size && *size <= 0) return std::nullopt;
    out.push_back(size.value_or(-1));
  }
  return std::count(out.begin(), out.end(), -1) > 1 ? std::nullopt : std::optional(out);
}

struct Reshaped {
  std::vector<int64_t> shape; ///< as Reshape takes it
  Form form;                  ///< without a value
  Layout from;                ///< of x
};

std::optional<Reshaped> as_stored(const TypeInfo& x, const TypeInfo& y, const Form& from) {
  if (from.layout == Layout::kNhwc)
    if (const auto image = flattened_image(x, y)) {
      const auto [c, h, w] = *image;
      return Reshaped{{-1, c * h * w}, {{}, Layout::kFlatNhwc, *image}, from.layout};
    }
  if (from.layout.is_plain() || !y.has_rank() || y.rank() > Layout::kMaxRank) return std::nullopt;
  const auto groups = groups_of(*x.shape, *y.shape);
  if (!groups) return std::nullopt;
  std::vector<int64_t> axes = from.layout.axes(x.rank());
  auto stored = stored_groups(*groups, axes);
  if (!stored && y.rank() == 4) {
    axes = as_nhwc(*groups);
    stored = stored_groups(*groups, axes);
    if (stored && Layout::of(*stored) != Layout::kNhwc) return std::nullopt;
  }
  if (!stored) return std::nullopt;
  const auto shape = target_of(*y.shape, *stored);
  if (!shape) return std::nullopt;
  return Reshaped{*shape, {{}, Layout::of(*stored)}, Layout::of(axes)};
}

} // namespace

Result<bool> lower_reshape(Context& c, const Node& node) {
  if (!node.is("Reshape") && !node.is("Flatten")) return false;
  const ValueId x = node.input(0), y = node.outputs[0];
  const bool codes = c.codes(x).has_value();
  if (!codes && !c.source(x).real) return false;
  const TypeInfo& type = c.in().value(x).type;
  Node made = node;
  made.outputs.clear();
  made.origin = {node.name};
  const std::optional<Form> from = c.at_hand(x);
  std::optional<Reshaped> view;
  if (from && type.has_rank()) view = as_stored(type, c.in().value(y).type, *from);
  if (view) {
    made.op_type = "Reshape";
    made.attributes.clear();
    const Form as_read = codes ? c.codes_ordered(x, view->from) : c.ordered(x, view->from);
    made.inputs = {as_read.id, c.out().add_constant(node.name + "/shape", int_list(view->shape))};
    view->form.id = c.emit(std::move(made), c.in().value(y).name);
    c.set_moved(node, x, y, view->form);
    return true;
  }
  made.inputs[0] = codes ? c.codes_plain(x).id : c.plain(x).id;
  for (size_t i = 1; i < made.inputs.size(); ++i)
    if (node.inputs[i].valid()) made.inputs[i] = c.plain(node.inputs[i]).id;
  c.set_moved(node, x, y, {c.emit(std::move(made), c.in().value(y).name)});
  return true;
}

} // namespace octet::lowering
