// SPDX-License-Identifier: Apache-2.0
// Checks that operators share; see types.h.
#include "ops/shared/types.h"

#include <algorithm>

#include "core/format.h"

namespace octet {

std::string TypeSet::text() const {
  std::vector<std::string_view> names;
  for (int32_t code = 1; code < 64 && is_valid(code); ++code)
    if (has(static_cast<DType>(code))) names.push_back(name(static_cast<DType>(code)));
  std::string out;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += i + 1 == names.size() ? " or " : ", ";
    out += names[i];
  }
  return out;
}

Status check_count(const InferContext& ctx, size_t min, size_t max) {
  const size_t have = ctx.inputs.size();
  if (have >= min && have <= max) return ok_status();
  if (min == max)
    return error("{} has {} inputs, takes {}; give it the missing ones or drop the others",
                 ctx.node.op_type, have, min);
  return error("{} has {} inputs, takes {} to {}; see its operator text for version {}",
               ctx.node.op_type, have, min, max, ctx.version);
}

Status check_present(const InferContext& ctx, size_t i) {
  if (ctx.has(i)) return ok_status();
  return error("input {} of {} is missing; it is not optional", i, ctx.node.op_type);
}

Status check_scalar(const InferContext& ctx, size_t i) {
  const auto shape = ctx.has(i) ? ctx.input(i).type.static_shape() : std::nullopt;
  if (!shape || OCTET_TRY(element_count(*shape)) == 1) return ok_status();
  return error("input {} of {} has shape {}; it is a scalar", i, ctx.node.op_type,
               to_string(*shape));
}

Status check_input(const InferContext& ctx, size_t i, TypeSet allowed) {
  OCTET_TRY(check_present(ctx, i));
  const DType type = ctx.input(i).type.type;
  if (type == DType::kUndefined || allowed.has(type)) return ok_status();
  return error("input {} of {} is {}; it takes {}: insert a Cast", i, ctx.node.op_type, name(type),
               allowed.text());
}

Result<DType> common_type(const InferContext& ctx, size_t first, size_t last) {
  DType common = DType::kUndefined;
  size_t from = first;
  for (size_t i = first; i <= last && i < ctx.inputs.size(); ++i) {
    const DType type = ctx.has(i) ? ctx.input(i).type.type : DType::kUndefined;
    if (type == DType::kUndefined) continue;
    if (common == DType::kUndefined) {
      common = type;
      from = i;
    } else if (type != common) {
      return error("inputs {} and {} of {} are {} and {}; they must agree: insert a Cast", from, i,
                   ctx.node.op_type, name(common), name(type));
    }
  }
  return common;
}

Result<int64_t> normalize_axis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    return error("axis {} out of range for rank {}; use {} to {}", axis, rank, -rank, rank - 1);
  return axis < 0 ? axis + rank : axis;
}

Result<std::vector<int64_t>> normalize_axes(std::span<const int64_t> axes, int64_t rank) {
  std::vector<int64_t> out;
  for (int64_t axis : axes) {
    const int64_t a = OCTET_TRY(normalize_axis(axis, rank));
    if (std::find(out.begin(), out.end(), a) != out.end())
      return error("axis {} is given twice for rank {}; name each axis once", axis, rank);
    out.push_back(a);
  }
  return out;
}

namespace {
/// Longer vectors are data, not shapes.
constexpr int64_t kMaxKnownDims = 1024;
/// A few bytes in a file must not make the reference take all memory.
constexpr int64_t kMaxElements = int64_t{1} << 28;
} // namespace

std::optional<std::vector<Dim>> known_dims(const InputInfo& input) {
  if (!input.present) return std::nullopt;
  if (input.value) return input.value;
  const Tensor* c = input.constant;
  if (c == nullptr || c->rank() > 1 || !(is_integer(c->type()) || c->type() == DType::kBool))
    return std::nullopt;
  if (c->count() > kMaxKnownDims) return std::nullopt;
  auto ints = c->to_ints();
  if (!ints.ok()) return std::nullopt;
  return std::vector<Dim>(ints->begin(), ints->end());
}

std::optional<std::vector<int64_t>> known_ints(const InputInfo& input) {
  const Tensor* c = input.constant;
  if (c != nullptr && c->rank() <= 1 && is_integer(c->type())) {
    auto ints = c->to_ints();
    return ints.ok() ? std::optional(std::move(*ints)) : std::nullopt;
  }
  const auto dims = known_dims(input);
  if (!dims) return std::nullopt;
  std::vector<int64_t> out;
  for (const Dim& d : *dims) {
    if (!d.is_constant()) return std::nullopt;
    out.push_back(d.value());
  }
  return out;
}

ListArgument
list_argument(const InferContext& ctx, const char* attribute, size_t input, int64_t input_since) {
  if (ctx.version >= input_since) {
    if (!ctx.has(input)) return {};
    return {.given = true, .known = known_ints(ctx.input(input))};
  }
  if (!ctx.node.has_attr(attribute)) return {};
  return {.given = true, .known = ctx.node.attr_ints(attribute)};
}

std::vector<Dim> unknown_dims(int64_t rank) {
  return std::vector<Dim>(static_cast<size_t>(rank), Dim::unknown());
}

void set_value(OutputInfo& output, std::optional<std::vector<Dim>> value) {
  const TypeInfo& type = output.type;
  const bool whole = is_integer(type.type) || type.type == DType::kBool;
  if (value && whole && type.has_rank() && type.rank() <= 1) output.value = std::move(value);
}

Result<std::vector<OutputInfo>> infer_values(InferFn* infer, const EvalContext& ctx) {
  InferContext types{ctx.node, ctx.version, {}, {}};
  for (const Tensor& t : ctx.inputs) {
    InputInfo info;
    info.present = !t.empty();
    if (info.present) {
      info.type = tensor_type(t.type(), t.shape());
      info.constant = &t;
    }
    types.inputs.push_back(std::move(info));
  }
  auto outputs = OCTET_TRY(infer(types));
  for (const OutputInfo& o : outputs) {
    const auto shape = o.type.static_shape();
    if (shape && OCTET_TRY(element_count(*shape)) > kMaxElements)
      return error(ErrorCode::kUnsupported,
                   "an output of {} has shape {}; the reference stops at {} elements",
                   ctx.node.op_type, to_string(*shape), kMaxElements);
  }
  return outputs;
}

Result<Shape> infer_shape(InferFn* infer, const EvalContext& ctx) {
  const auto outputs = OCTET_TRY(infer_values(infer, ctx));
  const auto shape = outputs[0].type.static_shape();
  if (!shape)
    return error("the shape of {} does not follow from its inputs; lists of axes and sizes are "
                 "vectors of integers",
                 ctx.node.op_type);
  return *shape;
}

Result<std::vector<Tensor>> eval_reshaped(InferFn* infer, const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  return one(OCTET_TRY(ctx.inputs[0].reshaped(shape)));
}

Role first_is_data(const Node&, size_t input) {
  return input == 0 ? Role::kData : Role::kConstant;
}

QuantTrait unary_table(const Node&, std::span<const InputInfo>) {
  QuantTrait t;
  t.kind = QuantTrait::Kind::kUnary;
  t.inputs = {0};
  return t;
}

namespace {
QuantTrait over_all(QuantTrait::Kind kind, size_t count) {
  QuantTrait t;
  t.kind = kind;
  for (size_t i = 0; i < count; ++i)
    t.inputs.push_back(i);
  return t;
}
} // namespace

QuantTrait elementwise_all(const Node& node, std::span<const InputInfo>) {
  return over_all(QuantTrait::Kind::kElementwise, node.inputs.size());
}

QuantTrait moves_all(const Node& node, std::span<const InputInfo>) {
  return over_all(QuantTrait::Kind::kSameScale, node.inputs.size());
}

QuantTrait no_real_output(const Node&, std::span<const InputInfo>) {
  return QuantTrait::none("its output holds shapes, indices or truth values");
}

} // namespace octet
