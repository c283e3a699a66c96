// SPDX-License-Identifier: Apache-2.0
// What moves elements of tokens, and what adds them up: along axes behind those of batch and length
// it stays what it is; along the tokens of a sequence only some of it is known without padding.
#include <algorithm>

#include "graph/domains.h"
#include "passes/pack/packer.h"

namespace octet::packing {
namespace {

bool is_zero(const Tensor& one) {
  return one.at(0) == 0;
}

/// Whether it multiplies two operands and does nothing else.
bool multiplies(const Node& node) {
  if (node.is("Mul")) return true;
  if (!node.is("Map", kNative) || node.inputs.size() != 2) return false;
  const std::string program = node.attr_string("program", "");
  return program == "mul x0 x1" || program == "mul x1 x0";
}

} // namespace

bool Packer::zeroes_padding(const Node& node) const {
  if (std::any_of(node.inputs.begin(), node.inputs.end(),
                  [&](ValueId id) {
                    return id.valid() && form(id).is(Kind::kTokens) && form(id).zero_padding;
                  }) &&
      (multiplies(node) || node.is("Identity")))
    return true;
  return multiplies(node) && std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
           const Form& from = form(id);
           return from.is(Kind::kMask) && from.axis && is_zero(from.padding);
         });
}

std::optional<std::vector<int64_t>> Packer::axes_of(const Node& node, size_t input) const {
  const ValueId x = node.input(0);
  const ValueId list = node.input(input);
  if (!type(x).has_rank()) return std::nullopt;
  const auto axes = list.valid() ? known_ints(list) : std::optional(node.attr_ints("axes"));
  if (!axes || axes->empty()) return std::nullopt;
  std::vector<int64_t> out;
  for (const int64_t axis : *axes)
    out.push_back(axis < 0 ? axis + type(x).rank() : axis);
  return out;
}

/// Lengths of the sequences as [sequences, 1, ..] of some type, repeated to sizes that are constant.
Result<ValueId> Packer::lengths_like(const Node& node, const TypeInfo& wanted) {
  const auto& dims = *wanted.shape;
  std::vector<int64_t> wide = {-1}, sizes = {1};
  for (size_t i = 1; i < dims.size(); ++i) {
    if (!dims[i].is_constant()) return refuse(node, "it makes {} of the mask", wanted.text());
    wide.push_back(1);
    sizes.push_back(dims[i].value());
  }
  const std::string& name = node.name;
  const ValueId one = out_.add_constant(name + "/one", ints({1}));
  const ValueId end = out_.add_constant(name + "/end", ints({INT64_MAX}));
  const ValueId zero = out_.add_constant(name + "/axis", ints({0}));
  const ValueId ends = out_.emit("Slice", {offsets_, one, end, zero}, {}, name + "/ends");
  const ValueId lengths = out_.emit("Sub", {ends, starts()}, {}, name + "/lengths");
  Attributes to;
  to["to"].value = static_cast<int64_t>(wanted.type);
  const ValueId numbers = out_.emit("Cast", {lengths}, to, name + "/numbers");
  const ValueId rows = out_.emit(
      "Reshape", {numbers, out_.add_constant(name + "/rows", ints(wide))}, {}, name + "/column");
  return out_.emit("Expand", {rows, out_.add_constant(name + "/sizes", ints(sizes))}, {},
                   name + "/counts");
}

Result<bool> Packer::pack_reduced(const Node& node) {
  if (!node.domain.empty() || node.op_type.rfind("Reduce", 0) != 0) return false;
  const ValueId x = node.input(0), y = node.output(0);
  const Form& from = form(x);
  if (!from.is(Kind::kTokens) && !from.is(Kind::kMask)) return false;
  const auto axes = axes_of(node, 1);
  if (!axes) return refuse(node, "its axes are not known");
  const bool sums = node.is("ReduceSum");
  if (from.is(Kind::kMask)) {
    if (!sums || !from.axis || axes->size() != 1 || (*axes)[0] != type(x).rank() - 1 - *from.axis ||
        !is_zero(from.padding) || from.real.at(0) != 1 || !type(y).has_rank() ||
        type(y).rank() == 0 || !((*type(y).shape)[0] == batch_size()))
      return refuse(node, "what it makes of the mask is not the number of tokens");
    set(y, Form::sequences(OCTET_TRY(lengths_like(node, type(y)))));
    return true;
  }
  const auto before = static_cast<int64_t>(lead(x));
  const int64_t keeps = node.attr_int("keepdims", 1);
  if (std::all_of(axes->begin(), axes->end(), [&](int64_t axis) { return axis >= before; })) {
    std::vector<int64_t> packed;
    for (const int64_t axis : *axes)
      packed.push_back(axis - before + 1);
    Node made = node;
    made.inputs = {from.id};
    if (node.input(1).valid())
      made.inputs.push_back(out_.add_constant(node.name + "/axes", ints(packed)));
    else
      made.set("axes", std::move(packed));
    place_tokens(node, std::move(made), keeps != 0 ? from.rest : from.rest - axes->size());
    return true;
  }
  if (!sums || before != 2 || *axes != std::vector<int64_t>{1} || !from.zero_padding ||
      type(x).type != DType::kFloat32)
    return refuse(node, "it goes over the tokens of a sequence and over padding, which is not "
                        "known to add 0");
  Node made = node;
  made.attributes.clear();
  made.domain = kNative;
  made.op_type = "SegmentSum";
  made.inputs = {from.id, offsets_};
  if (keeps == 0) {
    place(node, std::move(made), [](ValueId v) { return Form::sequences(v); });
    return true;
  }
  const ValueId rows = out_.emit("SegmentSum", made.inputs, {}, node.name + "/rows", kNative);
  place_unsqueezed(node, rows);
  return true;
}

/// [sequences, ..] as [sequences, 1, ..].
void Packer::place_unsqueezed(const Node& node, ValueId rows) {
  Node made = node;
  made.attributes.clear();
  made.op_type = "Unsqueeze";
  made.inputs = {rows, out_.add_constant(node.name + "/axis", ints({1}))};
  place(node, std::move(made), [](ValueId v) { return Form::sequences(v); });
}

Result<bool> Packer::pack_slice(const Node& node) {
  if (!node.is("Slice") || !form(node.input(0)).is(Kind::kTokens)) return false;
  const ValueId x = node.input(0);
  const auto axes = axes_of(node, 3);
  const auto before = static_cast<int64_t>(lead(x));
  if (!axes) return refuse(node, "its axes are not known");
  if (std::all_of(axes->begin(), axes->end(), [&](int64_t axis) { return axis >= before; }) &&
      all(node, {Kind::kTokens, Kind::kFixed})) {
    std::vector<int64_t> packed;
    for (const int64_t axis : *axes)
      packed.push_back(axis - before + 1);
    Node made = node;
    made.inputs = packed_inputs(node);
    made.inputs[3] = out_.add_constant(node.name + "/axes", ints(packed));
    place_tokens(node, std::move(made), form(x).rest);
    return true;
  }
  if (before != 2 || *axes != std::vector<int64_t>{1} || !is_number(node.input(1), 0) ||
      !is_number(node.input(2), 1) || (node.input(4).valid() && !is_number(node.input(4), 1)))
    return refuse(node, "only the first token of each sequence can be picked by its place");
  Attributes first;
  first["axis"].value = int64_t{0};
  place_unsqueezed(node, out_.emit("Gather", {form(x).id, starts()}, first, node.name + "/rows"));
  return true;
}

/// The number of each row, and of the first row of its sequence.
ValueId Packer::first_rows() {
  if (first_rows_.valid()) return first_rows_;
  const ValueId zero = out_.add_constant("offsets/none", Tensor::scalar(int64_t{0}));
  const ValueId one = out_.add_constant("offsets/one", Tensor::scalar(int64_t{1}));
  const ValueId none = out_.emit("Mul", {positions(), zero}, {}, "offsets/zeros");
  const ValueId ones = out_.emit("Add", {none, one}, {}, "offsets/ones");
  Attributes exclusive;
  exclusive["exclusive"].value = int64_t{1};
  const ValueId rows = out_.emit("CumSum", {ones, zero}, exclusive, "offsets/rows");
  first_rows_ = out_.emit("Sub", {rows, positions()}, {}, "offsets/first_rows");
  return first_rows_;
}

/// Sums of integers from the first token on: those over all tokens, less what came before the
/// sequence.
Result<bool> Packer::pack_running(const Node& node) {
  if (!node.is("CumSum") || !form(node.input(0)).is(Kind::kTokens)) return false;
  const ValueId x = node.input(0);
  const DType of = type(x).type;
  const bool along = is_number(node.input(1), 1) || is_number(node.input(1), -1);
  if (form(x).rest != 0 || lead(x) != 2 || !along || node.attr_int("reverse", 0) != 0 ||
      (of != DType::kInt64 && of != DType::kInt32))
    return refuse(node, "of running sums those of integers from the first token on are known "
                        "without padding");
  const ValueId axis = out_.add_constant(node.name + "/axis", Tensor::scalar(int64_t{0}));
  Attributes exclusive;
  exclusive["exclusive"].value = int64_t{1};
  const ValueId before = out_.emit("CumSum", {form(x).id, axis}, exclusive, node.name + "/before");
  const ValueId base = out_.emit("Gather", {before, first_rows()}, {}, node.name + "/base");
  const ValueId sums =
      out_.emit("CumSum", {form(x).id, axis}, node.attributes, node.name + "/sums");
  Node made = node;
  made.attributes.clear();
  made.op_type = "Sub";
  made.inputs = {sums, base};
  place_tokens(node, std::move(made), 0);
  return true;
}

/// Concat and Split along an axis behind those of batch and length.
Result<bool> Packer::pack_joint(const Node& node) {
  const bool joins = node.is("Concat");
  if ((!joins && !node.is("Split")) || !any(node, Kind::kTokens)) return false;
  const ValueId x = node.input(0);
  const size_t rest = form(x).rest;
  for (const ValueId id : node.inputs)
    if (joins && (!form(id).is(Kind::kTokens) || form(id).rest != rest))
      return refuse(node, "\"{}\" is not of the same tokens", in_.value(id).name);
  const auto before = static_cast<int64_t>(lead(x));
  const int64_t stated = node.attr_int("axis", 0);
  const int64_t axis = stated < 0 ? stated + type(x).rank() : stated;
  if (axis < before) return refuse(node, "it works along the tokens of a sequence, or the batch");
  Node made = node;
  made.inputs = packed_inputs(node);
  made.set("axis", axis - before + 1);
  place_tokens(node, std::move(made), rest);
  return true;
}

} // namespace octet::packing
