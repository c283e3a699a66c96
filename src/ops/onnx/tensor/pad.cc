// SPDX-License-Identifier: Apache-2.0
// Pad (opset 2). x with elements added (or, where negative, removed) at the start and end of each
// axis: a constant, the mirror image without the edge (reflect), the edge, or x again (wrap, opset
// 19). Amounts and value are attributes before opset 11, inputs since; axes since opset 18.
#include <numeric>

#include "core/format.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/movement.h"

namespace octet::onnx::op_Pad {
namespace {

enum class Mode { kConstant, kReflect, kEdge, kWrap };

Result<Mode> parse_mode(const Node& node) {
  const std::string mode = node.attr_string("mode", "constant");
  if (mode == "constant") return Mode::kConstant;
  if (mode == "reflect") return Mode::kReflect;
  if (mode == "edge") return Mode::kEdge;
  if (mode == "wrap") return Mode::kWrap;
  return error("mode is \"{}\"; use constant, reflect, edge or wrap", mode);
}

/// Keeps sums of sizes far from overflow.
constexpr int64_t kMostPadding = int64_t{1} << 40;

/// Elements added before and after each axis of x.
struct PadAttrs {
  std::vector<Dim> before, after;
};

/// Nothing: not known before it runs. Errors: a count that does not fit the axes.
Result<std::optional<PadAttrs>> parse(const InferContext& ctx, int64_t rank) {
  std::optional<std::vector<Dim>> pads;
  if (ctx.version >= 11) {
    pads = known_dims(ctx.input(1));
  } else {
    const auto ints = ctx.node.attr_ints("pads");
    pads = std::vector<Dim>(ints.begin(), ints.end());
  }
  ListArgument listed;
  if (ctx.version >= 18) listed = list_argument(ctx, "", 3, 18);
  if (!pads || (listed.given && !listed.known)) return std::optional<PadAttrs>();
  std::vector<int64_t> axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  if (listed.known) axes = OCTET_TRY(normalize_axes(*listed.known, rank));
  if (pads->size() != 2 * axes.size())
    return error("pads has {} entries for {} axes; give two for each axis", pads->size(),
                 axes.size());
  for (const Dim& p : *pads)
    if (p.is_constant() && (p.value() > kMostPadding || p.value() < -kMostPadding))
      return error("pads holds {}; use {} to {}", p.value(), -kMostPadding, kMostPadding);
  const auto none = std::vector<Dim>(static_cast<size_t>(rank), Dim(0));
  PadAttrs a{.before = none, .after = none};
  for (size_t i = 0; i < axes.size(); ++i) {
    a.before[static_cast<size_t>(axes[i])] = (*pads)[i];
    a.after[static_cast<size_t>(axes[i])] = (*pads)[axes.size() + i];
  }
  return std::optional(std::move(a));
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  const Mode mode = OCTET_TRY(parse_mode(ctx.node));
  OCTET_TRY(check_count(ctx, ctx.version < 11 ? 1 : 2, ctx.version < 11 ? 1 : 4));
  OCTET_TRY(check_present(ctx, 0));
  if (ctx.version >= 11) OCTET_TRY(check_input(ctx, 1, kInt64Type));
  OCTET_TRY(check_scalar(ctx, 2));
  const TypeInfo& x = ctx.input(0).type;
  if (!x.has_rank()) return one(x.type, std::nullopt);
  const auto a = OCTET_TRY(parse(ctx, x.rank()));
  if (!a) return one(x.type, unknown_dims(x.rank()));
  std::vector<Dim> out;
  for (size_t i = 0; i < x.shape->size(); ++i) {
    const Dim& size = (*x.shape)[i];
    const Dim padded = size + a->before[i] + a->after[i];
    if (padded.is_constant() && padded.value() < 0)
      return error("pads {} and {} take more than axis {} of {} has", a->before[i].text(),
                   a->after[i].text(), i, x.text());
    if (mode != Mode::kConstant && size == Dim(0) && padded != Dim(0))
      return error("axis {} of {} is empty; there is nothing to repeat: use mode constant", i,
                   x.text());
    out.push_back(padded);
  }
  return one(x.type, out);
}

/// Where element `at` of an axis lies in x, -1 for the constant.
int64_t source(int64_t at, int64_t size, Mode mode) {
  if (at >= 0 && at < size) return at;
  switch (mode) {
  case Mode::kConstant:
    return -1;
  case Mode::kEdge:
    return at < 0 ? 0 : size - 1;
  case Mode::kWrap:
    return (at % size + size) % size;
  case Mode::kReflect:
    break;
  }
  if (size == 1) return 0;
  const int64_t period = 2 * (size - 1);
  const int64_t phase = (at % period + period) % period;
  return phase < size ? phase : period - phase;
}

/// The constant as a scalar of x's type.
Result<Tensor> fill_value(const EvalContext& ctx) {
  const DType type = ctx.inputs[0].type();
  if (ctx.version >= 11 && ctx.has(2)) return ctx.inputs[2].reshaped({});
  if (type == DType::kString) return Tensor::strings({}, {""});
  if (ctx.version >= 11) return Tensor::zeros(type, {});
  const double value = ctx.node.attr_float("value", 0);
  return Tensor::from_doubles(type, {}, std::span(&value, 1));
}

/// What the padding amounts are on actual tensors.
Result<PadAttrs> parse_values(const EvalContext& ctx) {
  InferContext types{ctx.node, ctx.version, {}, {}};
  for (const Tensor& t : ctx.inputs) {
    InputInfo info;
    info.present = !t.empty();
    info.constant = info.present ? &t : nullptr;
    types.inputs.push_back(std::move(info));
  }
  auto a = OCTET_TRY(parse(types, ctx.inputs[0].rank()));
  if (!a) return error("pads and axes must be vectors of integers");
  return std::move(*a);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const Mode mode = OCTET_TRY(parse_mode(ctx.node));
  const PadAttrs a = OCTET_TRY(parse_values(ctx));
  const Tensor& x = ctx.inputs[0];
  const Shape own = strides_of(x.shape());
  const Shape strides = strides_of(shape);
  auto index = strided_index(shape, strides);
  for (int64_t& i : index) {
    int64_t from = 0;
    for (size_t axis = 0; axis < shape.size() && from >= 0; ++axis) {
      const int64_t at = i / strides[axis] % shape[axis] - a.before[axis].value();
      const int64_t there = source(at, x.shape()[axis], mode);
      from = there < 0 ? -1 : from + there * own[axis];
    }
    i = from < 0 ? x.count() : from;
  }
  const Tensor fill = OCTET_TRY(fill_value(ctx));
  return one(OCTET_TRY(take(std::vector<Tensor>{x, fill}, shape, index)));
}

/// Its other modes repeat elements of x.
Motion motion(const Node& node) {
  const bool fills = node.attr_string("mode", "constant") == "constant";
  return {.kind = fills ? Motion::Kind::kFill : Motion::Kind::kSelect};
}

} // namespace

extern const OpFacets facets = {
    .since = 2,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = moves_data,
    .motion = motion,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Pad
