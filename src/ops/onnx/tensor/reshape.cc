// SPDX-License-Identifier: Apache-2.0
// Reshape (opset 5). The elements of x in order under another shape: 0 copies x's dimension at that
// place (unless allowzero, opset 14), one -1 takes what is left. Works on symbols: [N, S, 384]
// under [0, 0, 12, -1] is [N, S, 12, 32].
#include <algorithm>

#include "core/format.h"
#include "ops/shared/types.h"

namespace octet::onnx::op_Reshape {
namespace {

struct ReshapeAttrs {
  bool allow_zero = false; ///< 0 in the shape means 0
};

ReshapeAttrs parse(const Node& node) {
  return {.allow_zero = node.attr_int("allowzero", 0) != 0};
}

std::string text(const std::vector<Dim>& dims) {
  std::string out = "[";
  for (size_t i = 0; i < dims.size(); ++i)
    out += (i > 0 ? ", " : "") + dims[i].text();
  return out + "]";
}

/// The products of x's dimensions and of the target's, without those that are copied.
struct Remaining {
  Dim have = 1;
  Dim want = 1;
  std::optional<size_t> open; ///< the place of -1, or of the only unknown dimension
  bool several_open = false;
};

Result<Remaining>
remaining(const TypeInfo& x, const std::vector<Dim>& target, const ReshapeAttrs& a) {
  Remaining r;
  std::vector<bool> copied(x.shape->size(), false);
  for (size_t i = 0; i < target.size(); ++i) {
    const Dim& t = target[i];
    if (t == Dim(0) && !a.allow_zero) {
      if (i >= copied.size())
        return error("shape {} copies dimension {} of x, which is {}; give the dimension itself",
                     text(target), i, x.text());
      copied[i] = true;
    } else if (t == Dim(-1) || !t.is_known()) {
      r.several_open = r.several_open || r.open.has_value();
      if (r.several_open && t == Dim(-1) && target[*r.open] == Dim(-1))
        return error("shape {} has two -1; only one dimension can be inferred", text(target));
      r.open = i;
    } else if (t.is_constant() && t.value() < 0) {
      return error("shape {} has the dimension {}; use 0, -1 or a size", text(target), t.value());
    } else {
      r.want = r.want * t;
    }
  }
  for (size_t i = 0; i < copied.size(); ++i)
    if (!copied[i]) r.have = r.have * (*x.shape)[i];
  return r;
}

Result<std::vector<Dim>>
output_shape(const TypeInfo& x, const std::vector<Dim>& target, const ReshapeAttrs& a) {
  const Remaining r = OCTET_TRY(remaining(x, target, a));
  const bool zeros = std::find(target.begin(), target.end(), Dim(0)) != target.end();
  if (a.allow_zero && zeros && std::find(target.begin(), target.end(), Dim(-1)) != target.end())
    return error("shape {} has both 0 and -1 while allowzero is 1; write the size out",
                 text(target));
  std::vector<Dim> out = target;
  for (size_t i = 0; i < out.size(); ++i)
    if (out[i] == Dim(0) && !a.allow_zero) out[i] = (*x.shape)[i];
  const auto have = r.have.maybe_value();
  const auto want = r.want.maybe_value();
  // A size of 0 that is copied leaves nothing, whatever the others are.
  const bool nothing =
      !r.open && !a.allow_zero && zeros && std::find(out.begin(), out.end(), Dim(0)) != out.end();
  const bool fits =
      nothing || !have || !want || (r.open ? *want != 0 && *have % *want == 0 : *have == *want);
  if (!fits)
    return error("{} does not fit the shape {}; their sizes must agree", x.text(), text(target));
  if (r.several_open) {
    for (Dim& d : out)
      if (d == Dim(-1)) d = Dim::unknown();
  } else if (r.open) {
    out[*r.open] = r.have / r.want;
  }
  return out;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 2, 2));
  OCTET_TRY(check_present(ctx, 0));
  OCTET_TRY(check_input(ctx, 1, kInt64Type));
  const TypeInfo& x = ctx.input(0).type;
  const auto target = known_dims(ctx.input(1));
  if (!target) {
    const auto length = ctx.input(1).type.static_shape();
    if (!length || length->size() != 1) return one(x.type, std::nullopt);
    return one(x.type, unknown_dims((*length)[0]));
  }
  const ReshapeAttrs a = parse(ctx.node);
  if (!x.has_rank()) {
    std::vector<Dim> out = *target;
    for (Dim& d : out)
      if (d == Dim(-1) || (d == Dim(0) && !a.allow_zero)) d = Dim::unknown();
    return one(x.type, out);
  }
  auto outputs = one(x.type, OCTET_TRY(output_shape(x, *target, a)));
  set_value(outputs[0], known_dims(ctx.input(0)));
  return outputs;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return eval_reshaped(infer, ctx);
}

} // namespace

extern const OpFacets facets = {
    .since = 5,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = moves_data,
    .motion = moves_first<Motion::Kind::kView>,
    .range = of_sources,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Reshape
