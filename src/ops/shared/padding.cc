// SPDX-License-Identifier: Apache-2.0
// What Pad adds; see padding.h.
#include "ops/shared/padding.h"

#include <numeric>

#include "core/format.h"
#include "ops/shared/elementwise.h"

namespace octet {

Result<PadMode> pad_mode(const Node& node) {
  const std::string mode = node.attr_string("mode", "constant");
  if (mode == "constant") return PadMode::kConstant;
  if (mode == "reflect") return PadMode::kReflect;
  if (mode == "edge") return PadMode::kEdge;
  if (mode == "wrap") return PadMode::kWrap;
  return error("mode is \"{}\"; use constant, reflect, edge or wrap", mode);
}

namespace {

/// Keeps sums of sizes far from overflow.
constexpr int64_t kMostPadding = int64_t{1} << 40;

} // namespace

Result<std::optional<PadAmounts>> pad_amounts(const InferContext& ctx, int64_t rank) {
  std::optional<std::vector<Dim>> pads;
  if (ctx.version >= 11) {
    pads = known_dims(ctx.input(1));
  } else {
    const auto ints = ctx.node.attr_ints("pads");
    pads = std::vector<Dim>(ints.begin(), ints.end());
  }
  ListArgument listed;
  if (ctx.version >= 18) listed = list_argument(ctx, "", 3, 18);
  if (!pads || (listed.given && !listed.known)) return std::optional<PadAmounts>();
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
  PadAmounts a{.before = none, .after = none};
  for (size_t i = 0; i < axes.size(); ++i) {
    a.before[static_cast<size_t>(axes[i])] = (*pads)[i];
    a.after[static_cast<size_t>(axes[i])] = (*pads)[axes.size() + i];
  }
  return std::optional(std::move(a));
}

Result<PadAmounts> pad_amounts(
    const Node& node, int64_t version, const Tensor* pads, const Tensor* axes, int64_t rank) {
  const auto info = [](const Tensor* t) {
    InputInfo i;
    i.present = t != nullptr;
    i.constant = t;
    return i;
  };
  const InferContext ctx{node, version, {info(nullptr), info(pads), info(nullptr), info(axes)}, {}};
  auto a = OCTET_TRY(pad_amounts(ctx, rank));
  if (!a) return error("pads and axes must be vectors of integers");
  return std::move(*a);
}

Result<Tensor> pad_fill(const Node& node, int64_t version, DType type, const Tensor* value) {
  if (version >= 11 && value != nullptr) return value->reshaped({});
  if (type == DType::kString) return Tensor::strings({}, {""});
  if (version >= 11) return Tensor::zeros(type, {});
  const double number = node.attr_float("value", 0);
  return Tensor::from_doubles(type, {}, std::span(&number, 1));
}

int64_t pad_source(int64_t at, int64_t size, PadMode mode) {
  if (at >= 0 && at < size) return at;
  switch (mode) {
  case PadMode::kConstant:
    return -1;
  case PadMode::kEdge:
    return at < 0 ? 0 : size - 1;
  case PadMode::kWrap:
    return (at % size + size) % size;
  case PadMode::kReflect:
    break;
  }
  if (size == 1) return 0;
  const int64_t period = 2 * (size - 1);
  const int64_t phase = (at % period + period) % period;
  return phase < size ? phase : period - phase;
}

} // namespace octet
