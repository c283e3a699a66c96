// SPDX-License-Identifier: Apache-2.0
// Forms of values: float, codes, plain and NHWC, made on demand and remembered.
#include "passes/lower/context.h"

#include <algorithm>

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

/// One channel or one pixel.
bool same_in_both_orders(const std::array<int64_t, 3>& image) {
  return image[0] == 1 || (image[1] == 1 && image[2] == 1);
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
  Node node;
  node.name = v.name + "/dequantize";
  node.op_type = "Dequantize";
  node.domain = kNative;
  node.inputs = {s.codes->id};
  node.set("scale", s.quant.one_scale());
  node.set("zero_point", s.quant.one_zero());
  node.origin = {in_.producer(id)->name};
  s.real = s.codes->ordered(emit(std::move(node), v.name));
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

Form Context::codes_plain(ValueId id) {
  Source& s = source(id);
  OCTET_CHECK(s.codes.has_value());
  if (!s.plain_codes) s.plain_codes = to_plain(*s.codes, id);
  return *s.plain_codes;
}

Form Context::codes_nhwc(ValueId id) {
  Source& s = source(id);
  OCTET_CHECK(s.codes.has_value());
  if (s.codes->layout != Layout::kNhwc) s.codes = to_nhwc(codes_plain(id), id);
  return *s.codes;
}

Form Context::to_plain(Form form, ValueId like) {
  if (form.layout == Layout::kPlain) return form;
  const std::string name = out_.value(form.id).name + "/plain";
  if (form.layout == Layout::kNhwc) {
    const auto image = known_image(in_.value(like).type);
    if (!image || !same_in_both_orders(*image))
      return {out_.emit("Transpose", {form.id},
                        one_attribute("perm", std::vector<int64_t>{0, 3, 1, 2}), name)};
    const auto [c, h, w] = *image;
    const ValueId shape =
        out_.add_constant(name + "_shape", Tensor::of<int64_t>({4}, {0, c, h, w}));
    return {out_.emit("Reshape", {form.id, shape}, {}, name)};
  }
  const auto [c, h, w] = form.image;
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
  const auto image = known_image(in_.value(like).type);
  if (image && same_in_both_orders(*image)) {
    const auto [c, h, w] = *image;
    const ValueId shape =
        out_.add_constant(name + "_shape", Tensor::of<int64_t>({4}, {0, h, w, c}));
    return {out_.emit("Reshape", {form.id, shape}, {}, name), Layout::kNhwc};
  }
  return {out_.emit("Transpose", {form.id}, one_attribute("perm", std::vector<int64_t>{0, 2, 3, 1}),
                    name),
          Layout::kNhwc};
}

void Context::set_codes(ValueId id, Form form, const qdq::Grid& quant) {
  source(id).codes = form;
  source(id).quant = quant;
}

void Context::note(const Node& node, LowerForm runs, std::string form, std::string why) {
  notes_.push_back({label(in_, node), node.op_type, node.name, runs, std::move(form),
                    std::move(why), node.origin});
}

void Context::note_fused(const Node& node, const Node& into) {
  note(node, LowerForm::kFused, "fused into " + label(in_, into));
}

} // namespace octet::lowering
