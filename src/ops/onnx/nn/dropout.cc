// SPDX-License-Identifier: Apache-2.0
// Dropout (opset 7). In inference y = x and the mask is all true; in training (opset 12, third
// input) y = x * mask / (1 - ratio), where each element of mask is true with probability 1 - ratio.
// The mask has the type of x before opset 10. The drawn numbers are octet's own.
#include "core/format.h"
#include "core/philox.h"
#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Dropout {
namespace {

struct DropoutAttrs {
  std::optional<uint64_t> seed;
};

DropoutAttrs parse(const Node& node) {
  if (!node.has_attr("seed")) return {};
  return {.seed = static_cast<uint64_t>(node.attr_int("seed", 0))};
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 1, ctx.version < 12 ? 1 : 3));
  OCTET_TRY(check_input(ctx, 0, kFloatTypes));
  OCTET_TRY(check_scalar(ctx, 1));
  OCTET_TRY(check_scalar(ctx, 2));
  const TypeInfo& x = ctx.input(0).type;
  TypeInfo mask = x;
  if (ctx.version >= 10) mask.type = DType::kBool;
  if (ctx.has(1) && ctx.input(1).constant != nullptr) {
    const double ratio = ctx.input(1).constant->at(0);
    if (!(ratio >= 0 && ratio < 1)) return error("ratio is {}; it lies in [0, 1)", ratio);
  }
  return std::vector<OutputInfo>{x, mask};
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  OCTET_TRY(infer_values(infer, ctx));
  const DropoutAttrs a = parse(ctx.node);
  const Tensor& x = ctx.inputs[0];
  const DType mask_type = ctx.version >= 10 ? DType::kBool : x.type();
  std::vector<double> keep(static_cast<size_t>(x.count()), 1);
  const bool training = ctx.has(2) && ctx.inputs[2].at(0) != 0;
  if (!training)
    return std::vector<Tensor>{x, OCTET_TRY(Tensor::from_doubles(mask_type, x.shape(), keep))};
  const double ratio = ctx.has(1) ? ctx.inputs[1].at(0) : 0.5;
  Philox generator(a.seed.value_or(ctx.seed));
  auto values = OCTET_TRY(x.to_doubles());
  for (size_t i = 0; i < values.size(); ++i) {
    keep[i] = generator.uniform() >= ratio;
    values[i] *= keep[i] / (1 - ratio);
  }
  return std::vector<Tensor>{OCTET_TRY(real_tensor(x.type(), x.shape(), values)),
                             OCTET_TRY(Tensor::from_doubles(mask_type, x.shape(), keep))};
}

/// In training it drops and scales.
Motion motion(const Node& node) {
  return {.kind = node.input(2).valid() ? Motion::Kind::kNone : Motion::Kind::kView};
}

} // namespace

extern const OpFacets facets = {
    .since = 7,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = moves_data,
    .motion = motion,
    .range = of_sources,
    .facts = Facts{.random = true, .optional_outputs = 0b10},
};

} // namespace octet::onnx::op_Dropout
