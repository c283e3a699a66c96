// SPDX-License-Identifier: Apache-2.0
//   x [N, C, ..] ─▶ Reshape [N, G, ..] ─▶ InstanceNormalization ─▶ Reshape [N, C, ..] ─▶ y
//                                                      =>    x ─▶ GroupNormalization ─▶ y
// in octet.native: how exporters write group norm for operator sets that have none. Gain and bias
// are constants of the groups, repeated for their channels. Exact where x is in the source's order.
#include "graph/domains.h"
#include "passes/lower/chains.h"
#include "passes/lower/group_channels.h"
#include "passes/match.h"

namespace octet::lowering {

std::optional<Patch> fuse_group_norm(const RuleContext& c, const Node& node) {
  const Graph& g = c.graph;
  if (!node.is("Reshape")) return std::nullopt;
  const Node* norm = g.producer(node.input(0));
  if (norm == nullptr || !norm->is("InstanceNormalization")) return std::nullopt;
  const Node* split = g.producer(norm->input(0));
  if (split == nullptr || !split->is("Reshape")) return std::nullopt;
  const TypeInfo& x = g.value(split->input(0)).type;
  const TypeInfo& parts = g.value(norm->input(0)).type;
  if (x.type != DType::kFloat32 || !x.has_rank() || x.rank() < 3 || !parts.has_rank() ||
      !same_type(x, g.value(node.output(0)).type))
    return std::nullopt;
  const auto channels = (*x.shape)[1].maybe_value(), groups = (*parts.shape)[1].maybe_value();
  constexpr int64_t kMostChannels = 1 << 20;
  if (!((*x.shape)[0] == (*parts.shape)[0]) || !channels || !groups || *groups < 1 ||
      *channels > kMostChannels || *channels % *groups != 0)
    return std::nullopt;
  const Tensor *gain = g.constant(norm->input(1)), *bias = g.constant(norm->input(2));
  for (const Tensor* part : {gain, bias})
    if (part == nullptr || part->type() != DType::kFloat32 || part->shape() != Shape{*groups})
      return std::nullopt;
  Patch patch(g, "instances of reshaped channels are groups of channels", Exactness::kRounding);
  patch.from(*split).from(*norm).from(node);
  patch.import_opset(kNative, 1);
  Attributes attributes;
  attributes["groups"].value = *groups;
  attributes["epsilon"].value = norm->attr_float("epsilon", 1e-5F);
  patch.replace(
      node.output(0),
      patch.emit("GroupNormalization",
                 {split->input(0),
                  patch.constant(norm->name + "/gain", repeated_in_groups(*gain, *channels)),
                  patch.constant(norm->name + "/bias", repeated_in_groups(*bias, *channels))},
                 std::move(attributes), norm->name, kNative));
  return patch;
}

} // namespace octet::lowering
