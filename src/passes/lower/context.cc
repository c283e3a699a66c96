// SPDX-License-Identifier: Apache-2.0
// Forms of values: float, codes, plain and NHWC, made on demand and remembered.
#include "passes/lower/context.h"

#include <algorithm>

#include "core/check.h"

namespace octet::lowering {
namespace {

Attributes one_attribute(std::string key, std::vector<int64_t> v) {
  Attributes a;
  a[std::move(key)].value = std::move(v);
  return a;
}

} // namespace

Context::Context(const Graph& source, bool integer)
    : in_(source), integer_(integer), uses_(source),
      sources_(static_cast<size_t>(source.value_bound())),
      done_(static_cast<size_t>(source.node_bound()), false) {
  out_.name = source.name;
  out_.info = source.info;
  out_.opsets = source.opsets;
  out_.opsets["octet.native"] = 1;
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
  Node node;
  node.name = v.name + "/dequantize";
  node.op_type = "Dequantize";
  node.domain = "octet.native";
  node.inputs = {s.codes->id};
  node.set("scale", s.quant.scale);
  node.set("zero_point", s.quant.zero_point);
  node.origin = {in_.producer(id)->name};
  s.real = Form{emit(std::move(node), v.name), s.codes->layout};
  return *s.real;
}

Form Context::plain(ValueId id) {
  if (source(id).plain) return *source(id).plain;
  const Form form = to_plain(real(id), id);
  source(id).plain = form;
  return form;
}

Form Context::nhwc(ValueId id) {
  const Form form = real(id);
  return form.layout == Layout::kNhwc ? form : to_nhwc(plain(id), id);
}

std::optional<Form> Context::codes(ValueId id) const {
  return sources_[static_cast<size_t>(id.index)].codes;
}

Form Context::codes_nhwc(ValueId id) {
  Source& s = source(id);
  OCTET_CHECK(s.codes.has_value());
  if (s.codes->layout != Layout::kNhwc) s.codes = to_nhwc(*s.codes, id);
  return *s.codes;
}

Form Context::to_plain(Form form, ValueId like) {
  if (form.layout == Layout::kPlain) return form;
  const std::string name = out_.value(form.id).name + "/plain";
  if (form.layout == Layout::kNhwc) {
    const auto& known = in_.value(like).type.shape;
    const bool same_order = known && ((*known)[1] == Dim(1) || (*known)[2] * (*known)[3] == Dim(1));
    if (!same_order)
      return {out_.emit("Transpose", {form.id},
                        one_attribute("perm", std::vector<int64_t>{0, 3, 1, 2}), name)};
    const auto& dims = *known;
    // One channel or one pixel: the order of the elements is the same.
    const int64_t c = dims[1].maybe_value().value_or(-1);
    const int64_t h = dims[2].maybe_value().value_or(1), w = dims[3].maybe_value().value_or(1);
    const ValueId shape =
        out_.add_constant(name + "_shape", Tensor::of<int64_t>({4}, {0, c, h, w}));
    return {out_.emit("Reshape", {form.id, shape}, {}, name)};
  }
  const auto& dims = flattened_image(like);
  const int64_t c = dims[1].value(), h = dims[2].value(), w = dims[3].value();
  const ValueId four = out_.add_constant(name + "_4d", Tensor::of<int64_t>({4}, {-1, h, w, c}));
  const ValueId two = out_.add_constant(name + "_2d", Tensor::of<int64_t>({2}, {-1, c * h * w}));
  const ValueId image = out_.emit("Reshape", {form.id, four}, {}, name + "_image");
  const ValueId turned =
      out_.emit("Transpose", {image}, one_attribute("perm", std::vector<int64_t>{0, 3, 1, 2}),
                name + "_nchw");
  return {out_.emit("Reshape", {turned, two}, {}, name)};
}

Form Context::to_nhwc(Form form, ValueId like) {
  form = to_plain(form, like);
  const std::string name = out_.value(form.id).name + "/nhwc";
  const auto& dims = *in_.value(like).type.shape;
  const auto h = dims[2].maybe_value(), w = dims[3].maybe_value();
  if (dims[1] == Dim(1) && h && w) {
    const ValueId shape =
        out_.add_constant(name + "_shape", Tensor::of<int64_t>({4}, {-1, *h, *w, 1}));
    return {out_.emit("Reshape", {form.id, shape}, {}, name), Layout::kNhwc};
  }
  return {out_.emit("Transpose", {form.id}, one_attribute("perm", std::vector<int64_t>{0, 2, 3, 1}),
                    name),
          Layout::kNhwc};
}

void Context::set_codes(ValueId id, Form form, const QuantParams& quant) {
  source(id).codes = form;
  source(id).quant = quant;
}

const std::vector<Dim>& Context::flattened_image(ValueId id) const {
  const Node* node = in_.producer(id);
  while (in_.value(node->inputs[0]).type.rank() != 4)
    node = in_.producer(node->inputs[0]);
  return *in_.value(node->inputs[0]).type.shape;
}

void Context::note(const Node& node, std::string form, std::string why) {
  notes_.push_back({node.label(), std::move(form), std::move(why), node.origin});
}

} // namespace octet::lowering
