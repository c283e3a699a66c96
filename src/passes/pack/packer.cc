// SPDX-License-Identifier: Apache-2.0
#include "passes/pack/packer.h"

#include <algorithm>

#include "graph/bodies.h"
#include "graph/domains.h"
#include "graph/edit.h"
#include "graph/label.h"
#include "passes/lower/programs.h"
#include "passes/pack/pack_sequences.h"
#include "passes/reshape_target.h"

namespace octet::packing {
namespace {

constexpr std::string_view kPointwise[] = {
    "Map", "QMap", "QAdd",    "QTable", "Quantize",  "Dequantize",  "Exp",
    "Erf", "Tanh", "Sigmoid", "Gelu",   "RoundHalf", "FakeQuantize"};
/// Each row of the last axis by itself, with constants behind it.
constexpr std::string_view kRowWise[] = {"Gemm", "CodedGemm", "QGemm", "QDynamicGemm",
                                         "LayerNormalization"};

bool is_native(const Node& node, std::span<const std::string_view> names) {
  return node.domain == kNative &&
         std::find(names.begin(), names.end(), node.op_type) != names.end();
}

/// Inputs that the result broadcasts; those behind them are tables.
size_t broadcast_inputs(const Node& node) {
  return node.is("QTable", kNative) ? 1 : node.inputs.size();
}

bool is_one(const Dim& d) {
  return d.is_constant() && d.value() == 1;
}

} // namespace

Dim batch_size() {
  return Dim::symbol("sequences");
}
Dim sequence_length() {
  return Dim::symbol("length");
}

Tensor ints(const std::vector<int64_t>& values) {
  return int_list(values);
}

bool is_attention(const Node& node) {
  return node.is("Attention", kNative) || node.is("QAttention", kNative);
}

bool is_elementwise(const Graph& graph, const Node& node) {
  if (facts_of(node).broadcasts || is_native(node, kPointwise) || node.is("Cast") ||
      node.is("Not") || node.is("Identity"))
    return true;
  const auto program = lowering::mapped(graph, node, lowering::Bits::kSame);
  return program && std::none_of(program->inputs.begin(), program->inputs.end(),
                                 [](const auto& input) { return input.made.has_value(); });
}

Packer::Packer(const Graph& lowered)
    : in_(lowered), forms_(static_cast<size_t>(lowered.value_bound())) {
  out_.name = in_.name;
  out_.opsets = in_.opsets;
  out_.opsets[kNative] = 1;
  out_.info = in_.info;
  for (const ValueId id : in_.constants())
    set(id, Form::fixed(out_.add_like(in_.value(id))));
}

void Packer::set_token_input(ValueId source, ValueId made) {
  if (!any_tokens_.valid()) any_tokens_ = made;
  set(source, Form::tokens(made, 0));
}

Status Packer::set_mask_input(ValueId source) {
  const auto one_of = [&](double value) {
    return Tensor::from_doubles(type(source).type, {1}, std::vector<double>{value});
  };
  Form form;
  form.kind = Kind::kMask;
  form.real = OCTET_TRY_WITH(one_of(1), "mask \"" + in_.value(source).name + "\"");
  form.padding = OCTET_TRY_WITH(one_of(0), "mask \"" + in_.value(source).name + "\"");
  form.axis = 0;
  set(source, std::move(form));
  is_masked_ = true;
  return ok_status();
}

Status Packer::add_offsets() {
  if (!any_tokens_.valid())
    return error(
        ErrorCode::kUnsupported,
        "every input of the model changes scores of attention; none is known to be tokens");
  offsets_ =
      out_.add_input(std::string(kOffsetsInput),
                     {DType::kInt64, std::vector<Dim>{Dim::symbol("sequences") + Dim(1)}, {}});
  return ok_status();
}

bool Packer::any(const Node& node, Kind kind) const {
  return std::any_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId id) { return id.valid() && form(id).is(kind); });
}

bool Packer::all(const Node& node, std::initializer_list<Kind> kinds) const {
  return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
    return !id.valid() || std::find(kinds.begin(), kinds.end(), form(id).kind) != kinds.end();
  });
}

std::optional<std::vector<int64_t>> Packer::known_ints(ValueId source) const {
  if (!source.valid()) return std::nullopt;
  const Tensor* constant = in_.constant(source);
  const auto dims = constant != nullptr ? small_integers(*constant) : std::nullopt;
  if (!dims) return std::nullopt;
  std::vector<int64_t> out;
  for (const Dim& d : *dims)
    out.push_back(d.value());
  return out;
}

Status Packer::infer_source(const Node& node) {
  const std::vector<OutputInfo> outputs = OCTET_TRY(infer_outputs(in_, node.id, elements_));
  for (size_t k = 0; k < node.outputs.size() && k < outputs.size(); ++k) {
    const ValueId id = node.outputs[k];
    if (!id.valid()) continue;
    if (outputs[k].value) elements_[id] = *outputs[k].value;
    in_.set_type(id, filled_in(type(id), outputs[k].type));
  }
  return ok_status();
}

Status Packer::pack(NodeId id) {
  const Node node = in_.node(id);
  OCTET_TRY_WITH(infer_source(node), fmt::format("node {}", label(in_, node)));
  return pack_node(node);
}

Status Packer::pack_node(const Node& node) {
  if (!node.captures.empty() || has_bodies(node))
    return refuse(node, "it has bodies, which are not looked into");
  if (node.is("Shape") || node.is("Size")) {
    place_as(node, Kind::kShape);
    return ok_status();
  }
  if (all(node, {Kind::kFixed})) {
    Node made = node;
    made.inputs = packed_inputs(node);
    place(node, std::move(made), [](ValueId v) { return Form::fixed(v); });
    return ok_status();
  }
  if (OCTET_TRY(pack_positions(node))) return ok_status();
  if (all(node, {Kind::kFixed, Kind::kShape})) {
    place_as(node, Kind::kShape);
    return ok_status();
  }
  constexpr Result<bool> (Packer::*kRules[])(const Node&) = {
      &Packer::pack_reduced,   &Packer::pack_mask,       &Packer::pack_reshaped,
      &Packer::pack_attention, &Packer::pack_gather,     &Packer::pack_slice,
      &Packer::pack_joint,     &Packer::pack_running,    &Packer::pack_rows,
      &Packer::pack_transpose, &Packer::pack_elementwise};
  for (const auto rule : kRules)
    if (OCTET_TRY((this->*rule)(node))) return ok_status();
  if (all(node, {Kind::kFixed, Kind::kSequences})) {
    Node made = node;
    made.inputs = packed_inputs(node);
    place(node, std::move(made), [](ValueId v) { return Form::sequences(v); });
    return ok_status();
  }
  if (node.is("DynamicQuantizeLinear"))
    return refuse(node, "its range is that of the whole batch, padding too; use a form that "
                        "quantizes each row by itself");
  return refuse(node, "it may mix tokens of a sequence, or sequences");
}

void Packer::place_as(const Node& node, Form::Kind kind) {
  for (const ValueId id : node.outputs)
    if (id.valid()) set(id, Form{.kind = kind});
}

std::vector<ValueId> Packer::packed_inputs(const Node& node) {
  std::vector<ValueId> out;
  out.reserve(node.inputs.size());
  for (const ValueId id : node.inputs)
    out.push_back(!id.valid() ? ValueId{} : form(id).is(Kind::kMask) ? real_of(id) : form(id).id);
  return out;
}

ValueId Packer::real_of(ValueId source) {
  return out_.add_constant(in_.value(source).name, form(source).real);
}

void Packer::place_tokens(const Node& node, Node made, size_t rest) {
  place(node, std::move(made), [&](ValueId v) { return Form::tokens(v, rest); });
  // What a slice by a length of the batch left open is known here.
  for (const ValueId id : node.outputs) {
    if (!id.valid() || !type(id).has_rank()) continue;
    TypeInfo known = type(id);
    for (const ValueId from : node.inputs) {
      if (!from.valid() || !form(from).is(Kind::kTokens) || lead(from) != rank(id) - rest) continue;
      for (size_t axis = 0; axis < lead(from); ++axis)
        if (Dim& d = (*known.shape)[axis]; !d.is_known()) d = (*type(from).shape)[axis];
    }
    in_.set_type(id, known);
  }
}

/// Where each token stands in its sequence.
ValueId Packer::positions() {
  if (!positions_.valid())
    positions_ = out_.emit("Positions", {offsets_, any_tokens_}, {}, "offsets/positions", kNative);
  return positions_;
}

/// The first token of each sequence.
ValueId Packer::starts() {
  if (starts_.valid()) return starts_;
  const ValueId zero = out_.add_constant("offsets/first", ints({0}));
  const ValueId last = out_.add_constant("offsets/last", ints({-1}));
  starts_ = out_.emit("Slice", {offsets_, zero, last, zero}, {}, "offsets/starts");
  return starts_;
}

bool Packer::is_length(ValueId source) const {
  const auto found = elements_.find(source);
  return found != elements_.end() && found->second.size() == 1 &&
         found->second[0] == sequence_length();
}

bool Packer::is_number(ValueId source, int64_t number) const {
  const auto known = known_ints(source);
  return known && known->size() == 1 && (*known)[0] == number;
}

Result<bool> Packer::pack_sliced_table(const Node& node) {
  if (!node.is("Slice") || !form(node.input(0)).is(Kind::kFixed)) return false;
  const Tensor* table = in_.constant(node.input(0));
  const auto axes = known_ints(node.input(3));
  if (table == nullptr || !axes || axes->size() != 1 || !is_number(node.input(1), 0) ||
      !is_length(node.input(2)) || (node.input(4).valid() && !is_number(node.input(4), 1)))
    return false;
  const int64_t axis = (*axes)[0] < 0 ? (*axes)[0] + table->rank() : (*axes)[0];
  Shape shape = table->shape();
  if (axis < 0 || axis >= table->rank() ||
      std::any_of(shape.begin(), shape.begin() + axis, [](int64_t size) { return size != 1; }))
    return false;
  TypeInfo known = tensor_type(table->type(), shape);
  (*known.shape)[static_cast<size_t>(axis)] = sequence_length();
  in_.set_type(node.output(0), known);
  shape.erase(shape.begin(), shape.begin() + axis);
  const size_t rest = shape.size() - 1;
  Node made = node;
  made.attributes.clear();
  made.op_type = "Gather";
  made.inputs = {out_.add_constant(in_.value(node.input(0)).name + "/by_position",
                                   OCTET_TRY(table->reshaped(std::move(shape)))),
                 positions()};
  place(node, std::move(made), [&](ValueId v) { return Form::tokens(v, rest); });
  return true;
}

/// What depends on the length of the batch alone, and is read by position.
Result<bool> Packer::pack_positions(const Node& node) {
  if (OCTET_TRY(pack_sliced_table(node))) return true;
  if (node.is("Range")) {
    if (!is_number(node.input(0), 0) || !is_length(node.input(1)) || !is_number(node.input(2), 1))
      return false;
    Node made = node;
    made.attributes.clear();
    made.op_type = "Cast";
    made.set("to", static_cast<int64_t>(type(node.output(0)).type));
    made.inputs = {positions()};
    place(node, std::move(made), [](ValueId v) { return Form::tokens(v, 0); });
    return true;
  }
  if (!node.is("Expand") || !form(node.input(0)).is(Kind::kTokens)) return false;
  const Form& from = form(node.input(0));
  const TypeInfo& to = type(node.output(0));
  const auto same = [&](size_t axis, const Dim& size) { return (*to.shape)[axis] == size; };
  if (from.rest != 0 || !to.has_rank() || to.rank() != 2 || !same(0, batch_size()) ||
      !same(1, sequence_length()))
    return refuse(node, "it repeats tokens to {}", to.text());
  set(node.output(0), Form(from));
  return true;
}

Result<bool> Packer::pack_reshaped(const Node& node) {
  if (!only_reshapes(node)) return false;
  const ValueId x = node.input(0);
  const TypeInfo& to = type(node.output(0));
  if (!to.has_rank()) return refuse(node, "the shape that it gives is not known");
  const std::vector<Dim>& dims = *to.shape;
  if (form(x).is(Kind::kSequences)) {
    const auto target = reshape_target(type(x), dims);
    if (!target) return refuse(node, "it makes {} of {}", to.text(), type(x).text());
    Node made = node;
    made.attributes.clear();
    made.op_type = "Reshape";
    made.inputs = {form(x).id, out_.add_constant(node.name + "/shape", ints(*target))};
    place(node, std::move(made), [](ValueId v) { return Form::sequences(v); });
    return true;
  }
  if (!form(x).is(Kind::kTokens)) return false;
  const Dim length = sequence_length(), batch = batch_size();
  size_t lead = 0;
  if (dims.size() >= 2 && dims[1] == length && (dims[0] == batch || is_one(dims[0])))
    lead = 2;
  else if (!dims.empty() && (dims[0] == length || dims[0] == batch * length))
    lead = 1;
  std::vector<int64_t> target = {0};
  for (size_t i = lead; i < dims.size(); ++i)
    target.push_back(dims[i].is_constant() ? dims[i].value() : -1);
  if (lead == 0 || std::count(target.begin(), target.end(), -1) > 1 ||
      std::count(target.begin() + 1, target.end(), 0) > 0)
    return refuse(node, "it makes {} of {}, whose tokens do not stay apart", to.text(),
                  type(x).text());
  const size_t rest = dims.size() - lead;
  Node made = node;
  made.attributes.clear();
  made.op_type = "Reshape";
  made.inputs = {form(x).id, out_.add_constant(node.name + "/shape", ints(target))};
  place(node, std::move(made), [&](ValueId v) { return Form::tokens(v, rest); });
  return true;
}

Result<bool> Packer::pack_gather(const Node& node) {
  if (!node.is("Gather")) return false;
  const ValueId data = node.input(0), indices = node.input(1);
  const auto data_rank = type(data).has_rank() ? type(data).rank() : 0;
  const int64_t stated = node.attr_int("axis", 0);
  const int64_t axis = stated < 0 ? stated + data_rank : stated;
  if (form(data).is(Kind::kFixed) && form(indices).is(Kind::kTokens)) {
    if (axis != 0 || data_rank == 0) return refuse(node, "tokens index axis {} of it", axis);
    Node made = node;
    made.inputs = packed_inputs(node);
    place_tokens(node, std::move(made), form(indices).rest + static_cast<size_t>(data_rank) - 1);
    return true;
  }
  if (!form(data).is(Kind::kTokens) || !form(indices).is(Kind::kFixed)) return false;
  const auto before = static_cast<int64_t>(lead(data));
  if (axis >= before) {
    Node made = node;
    made.inputs = packed_inputs(node);
    made.set("axis", axis - before + 1);
    place_tokens(node, std::move(made), rank(node.output(0)) - lead(data));
    return true;
  }
  const auto places = known_ints(indices);
  if (before != 2 || axis != 1 || !places || places->size() != 1 || (*places)[0] != 0)
    return refuse(node, "only the first token of each sequence can be picked by its place");
  Node made = node;
  made.inputs = {form(data).id, starts()};
  made.set("axis", int64_t{0});
  if (type(indices).rank() == 0) {
    place(node, std::move(made), [](ValueId v) { return Form::sequences(v); });
    return true;
  }
  place_unsqueezed(node, out_.emit("Gather", made.inputs, made.attributes, node.name + "/rows"));
  return true;
}

Result<bool> Packer::pack_rows(const Node& node) {
  const bool softmax = node.is("Softmax", kNative);
  const bool product = node.is("MatMul", kNative) || node.is("QMatMul", kNative);
  if (!softmax && !product && !is_native(node, kRowWise)) return false;
  if (!form(node.input(0)).is(Kind::kTokens)) return false;
  const size_t rest = form(node.input(0)).rest;
  const auto r = static_cast<int64_t>(rank(node.input(0)));
  if (rest == 0) return refuse(node, "it works along the tokens of a sequence");
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    const ValueId id = node.inputs[i];
    if (!id.valid()) continue;
    const bool same = form(id).is(Kind::kTokens) && form(id).rest == rest && !product;
    const bool table = form(id).is(Kind::kFixed) && (!product || rank(id) == 2);
    if (!same && !table)
      return refuse(node, "input {} is neither constant nor one row for each token", i);
  }
  Node made = node;
  made.inputs = packed_inputs(node);
  if (softmax) {
    const int64_t stated = node.attr_int("axis", -1);
    const int64_t axis = stated < 0 ? stated + r : stated;
    const int64_t before = r - static_cast<int64_t>(rest);
    if (axis < before) return refuse(node, "it works along the tokens of a sequence");
    made.set("axis", axis - before + 1);
  }
  place_tokens(node, std::move(made), rest);
  return true;
}

Result<bool> Packer::pack_transpose(const Node& node) {
  if (!node.is("Transpose") || !form(node.input(0)).is(Kind::kTokens)) return false;
  const std::vector<int64_t> perm = node.attr_ints("perm");
  const auto before = static_cast<int64_t>(lead(node.input(0)));
  std::vector<int64_t> packed = {0};
  for (size_t i = 0; i < perm.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    if (at < before && perm[i] != at) return refuse(node, "it moves the axes of batch and length");
    if (at >= before) packed.push_back(perm[i] - before + 1);
  }
  if (perm.empty()) return refuse(node, "it moves the axes of batch and length");
  Node made = node;
  made.inputs = packed_inputs(node);
  made.set("perm", std::move(packed));
  place_tokens(node, std::move(made), form(node.input(0)).rest);
  return true;
}

Result<ValueId> Packer::beside_tokens(const Node& node, ValueId source, size_t rest) {
  const Form& from = form(source);
  if (from.is(Kind::kMask)) {
    if (from.axis && *from.axis != static_cast<int64_t>(rest))
      return refuse(node, "the mask \"{}\", {}, does not go with each token by itself",
                    in_.value(source).name, type(source).text());
    return real_of(source);
  }
  if (from.is(Kind::kTokens) && from.rest == rest) return from.id;
  if (from.is(Kind::kFixed) && type(source).has_rank()) {
    if (rank(source) <= rest) return from.id;
    const Tensor* constant = in_.constant(source);
    const auto cut = static_cast<ptrdiff_t>(rank(source) - rest);
    const auto& dims = *type(source).shape;
    if (constant != nullptr && std::all_of(dims.begin(), dims.begin() + cut, is_one)) {
      Shape shape(constant->shape().begin() + cut, constant->shape().end());
      return out_.add_constant(in_.value(source).name, OCTET_TRY(constant->reshaped(shape)));
    }
  }
  return refuse(node, "\"{}\", {}, does not go with each token by itself", in_.value(source).name,
                type(source).text());
}

Result<bool> Packer::pack_elementwise(const Node& node) {
  if (!any(node, Kind::kTokens) || !is_elementwise(in_, node)) return false;
  size_t rest = 0;
  const size_t count = broadcast_inputs(node);
  for (size_t i = 0; i < count; ++i)
    if (const ValueId id = node.inputs[i]; id.valid() && form(id).is(Kind::kTokens))
      rest = std::max(rest, form(id).rest);
  Node made = node;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId id = node.inputs[i];
    if (id.valid())
      made.inputs[i] = i < count ? OCTET_TRY(beside_tokens(node, id, rest)) : form(id).id;
  }
  place_tokens(node, std::move(made), rest);
  if (zeroes_padding(node)) forms_[static_cast<size_t>(node.output(0).index)].zero_padding = true;
  return true;
}

} // namespace octet::packing
