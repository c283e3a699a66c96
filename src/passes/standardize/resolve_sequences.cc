// SPDX-License-Identifier: Apache-2.0
//   SequenceAt(SequenceConstruct(a, b, ..), 1)              =>    b
//   SequenceAt(SplitToSequence(x, sizes), 1)                =>    Slice or Gather of x
//   ConcatFromSequence(s)                                   =>    Concat of the elements
//   SequenceLength(s)                                       =>    how many there are
// where s is made by SequenceConstruct, SequenceEmpty, SplitToSequence of known sizes, and by
// SequenceInsert and SequenceErase at known places. Exact. Sequences are no values of octet's
// executors; those that torch.split, unbind, stack and cat leave in files go this way.
#include "passes/standardize/standard_operators.h"

namespace octet {

namespace {

/// A value, or a part of one along an axis.
struct Element {
  ValueId value;
  bool part = false;
  bool drops_axis = false; ///< the part is one step, and the axis goes
  int64_t axis = 0, begin = 0, end = 0;
};
using Elements = std::vector<Element>;

/// Of a chain of insertions: a longer one stays.
constexpr int kDeepest = 1000;
/// A split into more is data, not structure.
constexpr int64_t kMostParts = 4096;

std::optional<int64_t> known_number(const Graph& g, ValueId id) {
  const Tensor* t = g.constant(id);
  if (t == nullptr || t->count() != 1) return std::nullopt;
  const auto values = t->to_ints();
  return values.ok() ? std::optional(values->front()) : std::nullopt;
}

/// Sizes of the parts of an axis of `size` elements (below 0: not known).
std::optional<std::vector<int64_t>> part_sizes(const Graph& g, const Node& split, int64_t size) {
  if (split.input(1).valid()) {
    const Tensor* given = g.constant(split.input(1));
    if (given == nullptr) return std::nullopt;
    const auto values = given->to_ints();
    if (!values.ok()) return std::nullopt;
    if (given->rank() == 1) return *values;
    const int64_t each = values->empty() ? 0 : values->front();
    if (size < 0 || each < 1 || size / each > kMostParts) return std::nullopt;
    std::vector<int64_t> out(static_cast<size_t>(size / each), each);
    if (size % each != 0) out.push_back(size % each);
    return out;
  }
  if (size < 0 || size > kMostParts) return std::nullopt;
  return std::vector<int64_t>(static_cast<size_t>(size), 1);
}

std::optional<Elements> split_elements(const Graph& g, const Node& split) {
  const TypeInfo& x = g.value(split.input(0)).type;
  if (!x.has_rank()) return std::nullopt;
  int64_t axis = split.attr_int("axis", 0);
  if (axis < 0) axis += x.rank();
  if (axis < 0 || axis >= x.rank()) return std::nullopt;
  const int64_t size = (*x.shape)[static_cast<size_t>(axis)].maybe_value().value_or(-1);
  const auto sizes = part_sizes(g, split, size);
  if (!sizes || sizes->size() > static_cast<size_t>(kMostParts)) return std::nullopt;
  const bool drops = !split.input(1).valid() && split.attr_int("keepdims", 1) == 0;
  Elements out;
  int64_t begin = 0;
  for (const int64_t part : *sizes) {
    constexpr int64_t kMost = int64_t{1} << 40;
    if (part < 0 || part > kMost) return std::nullopt;
    out.push_back({split.input(0), true, drops, axis, begin, begin + part});
    begin += part;
  }
  // Where the size is not known the operator itself refuses parts that do not add up.
  return size >= 0 && begin == size ? std::optional(out) : std::nullopt;
}

/// Where an element is put or taken, among `count`; nothing for a place that is not there.
std::optional<size_t> place(const Graph& g, ValueId id, size_t count, size_t otherwise) {
  if (!id.valid()) return otherwise;
  const auto at = known_number(g, id);
  if (!at) return std::nullopt;
  const auto most = static_cast<int64_t>(count);
  const int64_t from_front = *at < 0 ? *at + most : *at;
  return *at < -most || from_front > most ? std::nullopt
                                          : std::optional(static_cast<size_t>(from_front));
}

std::optional<Elements> elements_of(const Graph& g, ValueId sequence, int depth = 0) {
  const Node* made = g.producer(sequence);
  if (made == nullptr || !made->domain.empty() || depth > kDeepest) return std::nullopt;
  if (made->op_type == "SequenceEmpty") return Elements{};
  if (made->op_type == "SplitToSequence") return split_elements(g, *made);
  if (made->op_type == "Identity") return elements_of(g, made->input(0), depth + 1);
  if (made->op_type == "SequenceConstruct") {
    Elements out;
    for (const ValueId id : made->inputs)
      out.push_back({id});
    return out;
  }
  const bool inserts = made->op_type == "SequenceInsert";
  if (!inserts && made->op_type != "SequenceErase") return std::nullopt;
  auto out = elements_of(g, made->input(0), depth + 1);
  if (!out || (!inserts && out->empty())) return std::nullopt;
  const size_t last = inserts ? out->size() : out->size() - 1;
  const auto at = place(g, made->input(inserts ? 2 : 1), out->size(), last);
  if (!at || *at > last) return std::nullopt;
  const auto where = out->begin() + static_cast<ptrdiff_t>(*at);
  if (inserts)
    out->insert(where, Element{made->input(1)});
  else
    out->erase(where);
  return out;
}

ValueId emit_element(Patch& patch, const Element& e, const std::string& name) {
  if (!e.part) return e.value;
  Attributes axis;
  if (e.drops_axis) {
    axis["axis"].value = e.axis;
    const ValueId at = patch.constant(name + "/index", Tensor::scalar(e.begin));
    return patch.emit("Gather", {e.value, at}, std::move(axis), name);
  }
  return patch.emit("Slice",
                    {e.value, emit_ints(patch, name + "/begin", {e.begin}),
                     emit_ints(patch, name + "/end", {e.end}),
                     emit_ints(patch, name + "/axis", {e.axis})},
                    {}, name);
}

std::optional<Patch> take_element(const Graph& g, const Node& node, const Elements& elements) {
  const auto at = place(g, node.input(1), elements.size(), 0);
  if (!at || *at >= elements.size()) return std::nullopt;
  Patch patch(g, "the element of the sequence is known", Exactness::kExact);
  patch.from(node);
  const Element& e = elements[*at];
  if (!e.part && !can_replace(g, node.output(0), e.value))
    patch.replace(node.output(0), patch.emit("Identity", {e.value}, {}, node.name));
  else
    patch.replace(node.output(0), emit_element(patch, e, node.name));
  return patch;
}

std::optional<Patch> join_elements(const Graph& g, const Node& node, const Elements& elements) {
  if (elements.empty() || !node.has_attr("axis")) return std::nullopt;
  int64_t axis = node.attr_int("axis", 0);
  const bool adds_axis = node.attr_int("new_axis", 0) != 0;
  if (adds_axis && axis < 0) {
    const TypeInfo& first = g.value(elements[0].value).type;
    if (!first.has_rank()) return std::nullopt;
    axis += first.rank() + (elements[0].drops_axis ? 0 : 1);
    if (axis < 0) return std::nullopt;
  }
  Patch patch(g, "the elements of the sequence are known", Exactness::kExact);
  patch.from(node);
  std::vector<ValueId> parts;
  for (const Element& e : elements) {
    const std::string name = node.name + "/element" + std::to_string(parts.size());
    ValueId part = emit_element(patch, e, name);
    if (adds_axis) part = emit_unsqueeze(patch, g, name + "/apart", part, axis);
    parts.push_back(part);
  }
  Attributes along;
  along["axis"].value = axis;
  patch.replace(node.output(0),
                patch.emit("Concat", std::move(parts), std::move(along), node.name));
  return patch;
}

} // namespace

std::optional<Patch> resolve_sequences(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  const bool at = node.is("SequenceAt"), joins = node.is("ConcatFromSequence"),
             counts = node.is("SequenceLength");
  if (!at && !joins && !counts) return std::nullopt;
  const auto elements = elements_of(g, node.input(0));
  if (!elements) return std::nullopt;
  if (at) return take_element(g, node, *elements);
  if (joins) return join_elements(g, node, *elements);
  Patch patch(g, "the length of the sequence is known", Exactness::kExact);
  patch.from(node);
  const ValueId count =
      patch.constant(node.name + "/count", Tensor::scalar(static_cast<int64_t>(elements->size())));
  const bool whole = !g.is_output(node.output(0));
  patch.replace(node.output(0), whole ? count : patch.emit("Identity", {count}, {}, node.name));
  return patch;
}

} // namespace octet
