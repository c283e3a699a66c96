// SPDX-License-Identifier: Apache-2.0
// Data movement runs on codes as it does on numbers, and in the order in which they are stored:
//   DQ ─ Slice ─ ...       becomes Slice on codes, dequantized later where someone needs numbers
//   x ─ Transpose          becomes x in another order: nothing moves
#include <algorithm>
#include <numeric>

#include "core/format.h"
#include "graph/domains.h"
#include "graph/edit.h"
#include "passes/lower/axes.h"
#include "passes/lower/context.h"

namespace octet::lowering {
namespace {

int64_t rank_of(const Context& c, ValueId id) {
  return c.in().value(id).type.rank();
}

/// A node like this one over what is stored.
Node like(const Node& node, Form x) {
  Node made = node;
  made.outputs.clear();
  made.origin = {node.name};
  made.inputs[0] = x.id;
  return made;
}

bool transpose(Context& c, const Node& node, Form x) {
  const int64_t rank = rank_of(c, node.input(0));
  std::vector<int64_t> perm = node.attr_ints("perm");
  if (perm.empty()) {
    perm.resize(static_cast<size_t>(rank));
    std::iota(perm.rbegin(), perm.rend(), int64_t{0});
  }
  x.layout = x.layout.transposed(perm);
  c.set_moved(node, node.input(0), node.outputs[0], x);
  return true;
}

bool squeeze(Context& c, const Node& node, Form x) {
  const int64_t rank = rank_of(c, node.input(0));
  const auto axes = known_axes(c, node, 1, rank);
  if (!axes || axes->empty()) return false;
  Node made = like(node, x);
  set_axes(c, made, 1, stored_axes(x.layout, *axes, rank));
  Form y{c.emit(std::move(made), c.in().value(node.outputs[0]).name),
         x.layout.without(*axes, rank)};
  c.set_moved(node, node.input(0), node.outputs[0], y);
  return true;
}

/// The new axes are stored where the source has them.
bool unsqueeze(Context& c, const Node& node, Form x) {
  const TypeInfo& type = c.in().value(node.outputs[0]).type;
  if (!type.has_rank() || type.rank() > Layout::kMaxRank) return false;
  const auto axes = known_axes(c, node, 1, type.rank());
  if (!axes) return false;
  const auto is_new = [&](int64_t axis) {
    return std::find(axes->begin(), axes->end(), axis) != axes->end();
  };
  std::vector<int64_t> old; // by axis of x: that of y
  for (int64_t axis = 0; axis < type.rank(); ++axis)
    if (!is_new(axis)) old.push_back(axis);
  const std::vector<int64_t> before = x.layout.axes(rank_of(c, node.input(0)));
  std::vector<int64_t> stored;
  for (int64_t axis = 0, next = 0; axis < type.rank(); ++axis)
    stored.push_back(is_new(axis) ? axis
                                  : old[static_cast<size_t>(before[static_cast<size_t>(next++)])]);
  Node made = like(node, x);
  set_axes(c, made, 1, *axes);
  c.set_moved(node, node.input(0), node.outputs[0],
              {c.emit(std::move(made), c.in().value(node.outputs[0]).name), Layout::of(stored)});
  return true;
}

/// Slice before operator set 10, whose lists are attributes.
bool slice_by_attributes(Context& c, const Node& node, Form x) {
  const int64_t rank = rank_of(c, node.input(0));
  const size_t count = node.attr_ints("starts").size();
  auto axes = known_axes(c, node, 3, rank);
  if (!axes || count > static_cast<size_t>(rank)) return false;
  if (axes->empty()) {
    axes->resize(count);
    std::iota(axes->begin(), axes->end(), int64_t{0});
  }
  Node made = like(node, x);
  made.set("axes", stored_axes(x.layout, *axes, rank));
  c.set_moved(node, node.input(0), node.outputs[0],
              x.ordered(c.emit(std::move(made), c.in().value(node.outputs[0]).name)));
  return true;
}

/// Slice whose axes are inputs: starts and ends may be anything.
bool slice(Context& c, const Node& node, Form x) {
  const int64_t rank = rank_of(c, node.input(0));
  if (node.inputs.size() < 3) return slice_by_attributes(c, node, x);
  std::optional<std::vector<int64_t>> axes;
  if (node.input(3).valid()) {
    axes = known_axes(c, node, 3, rank);
  } else if (const auto count = c.in().value(node.input(1)).type.static_shape();
             count && count->size() == 1 && count->front() <= rank) {
    axes.emplace(static_cast<size_t>(count->front()));
    std::iota(axes->begin(), axes->end(), int64_t{0});
  }
  if (!axes) return false;
  Node made = like(node, x);
  for (size_t i = 1; i < made.inputs.size(); ++i)
    if (i != 3 && node.inputs[i].valid()) made.inputs[i] = c.plain(node.inputs[i]).id;
  made.inputs.resize(std::max<size_t>(made.inputs.size(), 4));
  made.inputs[3] =
      c.out().add_constant(node.name + "/axes", int_list(stored_axes(x.layout, *axes, rank)));
  c.set_moved(node, node.input(0), node.outputs[0],
              x.ordered(c.emit(std::move(made), c.in().value(node.outputs[0]).name)));
  return true;
}

/// Amounts by stored axis, when they are constant.
std::optional<std::vector<int64_t>>
stored_pads(Context& c, const Node& node, const Layout& layout, int64_t rank) {
  const auto given = node.inputs.size() > 1 ? known_integers(c, node.input(1))
                                            : std::optional(node.attr_ints("pads"));
  if (!given) return std::nullopt;
  std::vector<int64_t> axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), int64_t{0});
  if (node.input(3).valid()) {
    const auto listed = known_axes(c, node, 3, rank);
    if (!listed) return std::nullopt;
    axes = *listed;
  }
  if (given->size() != 2 * axes.size()) return std::nullopt;
  std::vector<int64_t> out(2 * static_cast<size_t>(rank), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto at = static_cast<size_t>(layout.stored_axis(axes[i], rank));
    out[at] = (*given)[i];
    out[at + static_cast<size_t>(rank)] = (*given)[axes.size() + i];
  }
  return out;
}

/// On codes where what is filled in is 0, which has a code.
bool pad(Context& c, const Node& node, Form x) {
  const ValueId source = node.input(0);
  const int64_t rank = rank_of(c, source);
  const bool codes = c.codes(source).has_value();
  const bool fills = node.attr_string("mode", "constant") == "constant";
  if (node.inputs.size() < 2) return false; // attributes, before operator set 11
  const ValueId given = node.input(2);
  if (codes && fills && given.valid()) {
    const std::optional<Tensor> value = c.constant(given);
    if (!value || value->type() != DType::kFloat32 || value->count() != 1 || value->at(0) != 0.0)
      return false;
  }
  const auto pads = stored_pads(c, node, x.layout, rank);
  if (!pads) return false;
  Node made = like(node, x);
  made.inputs = {x.id, c.out().add_constant(node.name + "/pads", int_list(*pads))};
  if (fills && codes) {
    const qdq::Grid& grid = c.source(source).quant;
    const Tensor zero = grid.codes == DType::kInt8
                            ? Tensor::of<int8_t>({}, {static_cast<int8_t>(grid.one_zero())})
                            : Tensor::of<uint8_t>({}, {static_cast<uint8_t>(grid.one_zero())});
    made.inputs.push_back(c.out().add_constant(node.name + "/zero", zero));
  } else if (given.valid() && !codes) { // other modes fill in nothing
    made.inputs.push_back(c.plain(given).id);
  }
  c.set_moved(node, source, node.outputs[0],
              x.ordered(c.emit(std::move(made), c.in().value(node.outputs[0]).name)));
  return true;
}

/// In NHWC: the channels of a pixel become pixels.
bool depth_to_space(Context& c, const Node& node, Form x) {
  constexpr int64_t kMost = 256;
  const int64_t block = node.attr_int("blocksize", 0);
  if (x.layout != Layout::kNhwc || block > kMost) return false;
  Node made = like(node, x);
  made.domain = kNative;
  made.attributes.erase("blocksize");
  made.set("blocks", std::vector<int64_t>{block, block});
  c.set_moved(node, node.input(0), node.outputs[0],
              x.ordered(c.emit(std::move(made), c.in().value(node.outputs[0]).name)));
  return true;
}

} // namespace

Result<bool> lower_movement(Context& c, const Node& node) {
  if (!node.domain.empty() || node.inputs.empty()) return false;
  const ValueId x = node.input(0);
  if (!x.valid()) return false;
  if (node.is("Identity")) {
    const Source& s = c.source(x);
    if (!s.codes && !s.real) return false;
    const Form from = s.codes ? *s.codes : *s.real;
    c.set_moved(node, x, node.outputs[0],
                from.ordered(c.emit(like(node, from), c.in().value(node.outputs[0]).name)));
    return true;
  }
  const std::optional<Form> from = c.at_hand(x);
  const TypeInfo& type = c.in().value(x).type;
  if (!from || !type.has_rank() || type.rank() > Layout::kMaxRank) return false;
  if (node.is("Transpose")) return transpose(c, node, *from);
  if (node.is("Squeeze")) return squeeze(c, node, *from);
  if (node.is("Unsqueeze")) return unsqueeze(c, node, *from);
  if (node.is("Slice")) return slice(c, node, *from);
  if (node.is("Pad")) return pad(c, node, *from);
  if (node.is("DepthToSpace")) return depth_to_space(c, node, *from);
  if (!node.is("Expand") || !from->layout.is_plain()) return false;
  Node made = like(node, *from);
  made.inputs[1] = c.plain(node.input(1)).id;
  c.set_moved(node, x, node.outputs[0],
              {c.emit(std::move(made), c.in().value(node.outputs[0]).name)});
  return true;
}

} // namespace octet::lowering
