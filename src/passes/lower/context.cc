// SPDX-License-Identifier: Apache-2.0
// Forms of values: float, codes, plain and NHWC, made on demand and remembered.
#include "passes/lower/context.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "graph/domains.h"
#include "graph/label.h"

namespace octet::lowering {
namespace {

Attributes one_attribute(std::string key, std::vector<int64_t> v) {
  Attributes a;
  a[std::move(key)].value = std::move(v);
  return a;
}

/// The shape of `type`'s axes in the order of `stored`, as Reshape takes it of a tensor whose axes
/// are stored in the order of `before`; nullopt where too little is known.
std::optional<Tensor> target_shape(const TypeInfo& type,
                                   const std::vector<int64_t>& before,
                                   const std::vector<int64_t>& stored) {
  std::vector<int64_t> sizes;
  bool open = false;
  for (size_t i = 0; i < stored.size(); ++i) {
    const auto size = (*type.shape)[static_cast<size_t>(stored[i])].maybe_value();
    if (size && *size <= 0) return std::nullopt;
    const bool copied = !size && before[i] == stored[i];
    if (!size && !copied && std::exchange(open, true)) return std::nullopt;
    sizes.push_back(size ? *size : copied ? 0 : -1);
  }
  const auto rank = static_cast<int64_t>(sizes.size());
  return Tensor::of<int64_t>({rank}, sizes);
}

/// Whether turning moves nothing, since only axes of size 1 change their place.
bool moves_nothing(const TypeInfo& type,
                   const std::vector<int64_t>& before,
                   const std::vector<int64_t>& stored) {
  const auto longer = [&](const std::vector<int64_t>& axes) {
    std::vector<int64_t> out;
    for (const int64_t axis : axes)
      if ((*type.shape)[static_cast<size_t>(axis)] != Dim(1)) out.push_back(axis);
    return out;
  };
  return longer(before) == longer(stored);
}

} // namespace

std::optional<std::array<int64_t, 3>> known_image(const TypeInfo& type) {
  if (!type.has_rank() || type.rank() != 4) return std::nullopt;
  std::array<int64_t, 3> image{};
  for (size_t i = 0; i < image.size(); ++i) {
    const auto size = (*type.shape)[i + 1].maybe_value();
    if (size.value_or(0) <= 0) return std::nullopt;
    image[i] = *size;
  }
  return image;
}

Context::Context(const Graph& source, bool integer)
    : in_(source), integer_(integer), uses_(source),
      sources_(static_cast<size_t>(source.value_bound())),
      done_(static_cast<size_t>(source.node_bound()), false) {
  out_.name = source.name;
  out_.info = source.info;
  out_.opsets = source.opsets;
  out_.opsets[kNative] = 1;
  for (const ValueId id : source.inputs()) {
    const Value& v = source.value(id);
    this->source(id).real = Form{out_.add_input(v.name, v.type)};
  }
}

ValueId Context::emit(Node node, const std::string& output_name) {
  node.outputs = {out_.add_value(output_name)};
  const ValueId id = node.outputs.front();
  out_.add_node(std::move(node));
  return id;
}

Form Context::real(ValueId id) {
  Source& s = source(id);
  if (s.real) return *s.real;
  const Value& v = in_.value(id);
  if (v.is_constant()) {
    s.real = Form{out_.add_constant(v.name, v.constant)};
    return *s.real;
  }
  if (!s.codes) {
    const std::optional<Tensor> t = constant(id);
    OCTET_CHECK(t.has_value());
    s.real = Form{out_.add_constant(v.name, *t)};
    return *s.real;
  }
  s.real = dequantized(id, *s.codes);
  return *s.real;
}

Form Context::dequantized(ValueId id, const Form& codes) {
  const Source& s = source(id);
  const Value& v = in_.value(id);
  Node node;
  node.name = v.name + "/dequantize";
  node.op_type = "Dequantize";
  node.domain = kNative;
  node.inputs = {codes.id};
  node.set("scale", s.quant.one_scale());
  node.set("zero_point", s.quant.one_zero());
  node.origin = {in_.producer(id)->name};
  return codes.ordered(emit(std::move(node), v.name));
}

Form Context::find_or_turn(const Form& form,
                           std::vector<Form>& turned,
                           const Layout& layout,
                           ValueId like) {
  if (form.layout == layout) return form;
  for (const Form& other : turned)
    if (other.layout == layout) return other;
  turned.push_back(turn(form, layout, like));
  return turned.back();
}

Form Context::ordered(ValueId id, const Layout& layout) {
  Source& s = source(id);
  if (s.real || !s.codes || s.codes->layout == layout)
    return find_or_turn(real(id), s.turned, layout, id);
  // Nobody wants the numbers in the order of the codes: turning those moves a quarter of the bytes.
  for (const Form& other : s.turned)
    if (other.layout == layout) return other;
  s.turned.push_back(dequantized(id, codes_ordered(id, layout)));
  return s.turned.back();
}

Form Context::plain(ValueId id) {
  return ordered(id, Layout::kPlain);
}

Form Context::nhwc(ValueId id) {
  return ordered(id, Layout::kNhwc);
}

std::optional<Form> Context::codes(ValueId id) const {
  return sources_[static_cast<size_t>(id.index)].codes;
}

Form Context::codes_ordered(ValueId id, const Layout& layout) {
  Source& s = source(id);
  OCTET_CHECK(s.codes.has_value());
  return find_or_turn(*s.codes, s.turned_codes, layout, id);
}

Form Context::codes_plain(ValueId id) {
  return codes_ordered(id, Layout::kPlain);
}

Form Context::codes_nhwc(ValueId id) {
  const Form form = codes_ordered(id, Layout::kNhwc);
  Source& s = source(id);
  if (s.codes->layout != Layout::kNhwc) s.turned_codes.push_back(*s.codes);
  s.codes = form; // readers that take any order take this one
  return form;
}

Form Context::unflatten(const Form& form) {
  const std::string name = out_.value(form.id).name + "/plain";
  const auto [c, h, w] = form.image;
  const ValueId four = out_.add_constant(name + "_4d", Tensor::of<int64_t>({4}, {-1, h, w, c}));
  const ValueId two = out_.add_constant(name + "_2d", Tensor::of<int64_t>({2}, {-1, c * h * w}));
  const ValueId image = out_.emit("Reshape", {form.id, four}, {}, name + "_image");
  const ValueId turned =
      out_.emit("Transpose", {image}, one_attribute("perm", std::vector<int64_t>{0, 3, 1, 2}),
                name + "_nchw");
  return {out_.emit("Reshape", {turned, two}, {}, name)};
}

Form Context::turn(const Form& form, const Layout& layout, ValueId like) {
  if (form.layout == layout) return form;
  if (form.layout.is_flat()) return turn(unflatten(form), layout, like);
  const TypeInfo& type = in_.value(like).type;
  const std::vector<int64_t> before = form.layout.axes(type.rank());
  const std::vector<int64_t> stored = layout.axes(type.rank());
  const std::string name = out_.value(form.id).name + (layout.is_plain()         ? "/plain"
                                                       : layout == Layout::kNhwc ? "/nhwc"
                                                                                 : "/turned");
  const std::vector<int64_t> perm = permutation(form.layout, layout, type.rank());
  if (const Tensor* constant = out_.constant(form.id); constant && bits(constant->type()) >= 8) {
    const Tensor turned = permuted(*constant, perm);
    return {out_.add_constant(name, turned), layout};
  }
  if (moves_nothing(type, before, stored))
    if (const auto shape = target_shape(type, before, stored)) {
      const ValueId target = out_.add_constant(name + "_shape", *shape);
      return {out_.emit("Reshape", {form.id, target}, {}, name), layout};
    }
  return {out_.emit("Transpose", {form.id}, one_attribute("perm", perm), name), layout};
}

void Context::set_codes(ValueId id, Form form, const qdq::Grid& quant) {
  Source& s = source(id);
  s.codes = form;
  s.turned_codes.clear();
  s.quant = quant;
}

std::optional<Form> Context::at_hand(ValueId id) const {
  const Source& s = sources_[static_cast<size_t>(id.index)];
  const std::optional<Form>& form = s.codes ? s.codes : s.real;
  if (!form || form->layout.is_flat()) return std::nullopt;
  return form;
}

void Context::set_moved(const Node& node, ValueId from, ValueId to, Form form) {
  const Source& s = source(from);
  const bool codes = s.codes.has_value();
  if (codes)
    set_codes(to, form, s.quant);
  else
    source(to).real = form;
  note(node, codes ? LowerForm::kCodes : LowerForm::kFloat,
       codes ? node.op_type + " on codes" : node.op_type);
}

void Context::note(const Node& node, LowerForm runs, std::string form, std::string why) {
  notes_.push_back({label(in_, node), node.op_type, node.name, runs, std::move(form),
                    std::move(why), node.origin});
}

void Context::note_fused(const Node& node, const Node& into) {
  note(node, LowerForm::kFused, "fused into " + label(in_, into));
}

} // namespace octet::lowering
