// SPDX-License-Identifier: Apache-2.0
//   Conv ─ [Relu | Clip | LeakyRelu | Q | DQ]* ─ DepthToSpace(CRD)
//     =>  Conv of channels in another order ─ [...] ─ DepthToSpace(DCR)
// Exact. PyTorch's PixelShuffle is CRD. Images are NHWC inside, where DCR copies runs of channels and
// CRD single numbers.
#include <algorithm>

#include "ops/qdq/site.h"
#include "passes/lower/chains.h"
#include "passes/lower/context.h"

namespace octet::lowering {
namespace {

constexpr qdq::Reading kAnyGrid{.written_zero = false};

/// Channels [C, r s] as [r s, C]; `t` has them along its first axis.
Tensor by_places(const Tensor& t, int64_t places) {
  const int64_t channels = t.dim(0) / places;
  const int64_t each = t.dim(0) == 0 ? 0 : t.count() / t.dim(0);
  const Tensor split = t.reshaped({channels, places, each}).value();
  constexpr int64_t kTurn[] = {1, 0, 2};
  return permuted(split, kTurn).reshaped(t.shape()).value();
}

/// Each number is made of the one at its place, and of what is the same for all channels.
bool is_same_for_all_channels(const Graph& g, const Node& node) {
  if (is_qdq(node)) {
    const auto grid = qdq::grid_of(g, node, kAnyGrid);
    return grid && grid->per_tensor();
  }
  return node.is("Relu") || node.is("Clip") || node.is("LeakyRelu");
}

/// The Conv at the start of the chain that ends in `x`, when nothing else reads what is between.
const Node* conv_before(const RuleContext& c, ValueId x) {
  while (true) {
    const Node* node = c.graph.producer(x);
    if (!node || c.graph.is_output(x) || !c.uses.single_consumer(x).valid()) return nullptr;
    if (node->is("Conv")) return node;
    if (!is_same_for_all_channels(c.graph, *node)) return nullptr;
    x = node->input(0);
  }
}

/// A constant of the Conv, or codes behind DQ.
class Parameter {
 public:
  Parameter(const Graph& g, ValueId id, int64_t channels) : g_(g), id_(id), channels_(channels) {
    if (has_channels(id)) return;
    const auto site = qdq::read_dequantize(g, id, kAnyGrid);
    if (site && has_channels(site->codes) && site->grid.block == 0 &&
        (site->grid.per_tensor() || site->grid.axis == 0))
      dequantize_ = g.producer(id);
    else
      known_ = false;
  }

  bool is_known() const { return known_; }

  ValueId ordered(Patch& patch, int64_t places) const {
    if (!dequantize_) return ordered(patch, id_, places);
    std::vector<ValueId> inputs = dequantize_->inputs;
    for (ValueId& input : inputs)
      if (has_channels(input)) input = ordered(patch, input, places);
    return patch.emit(dequantize_->op_type, std::move(inputs), dequantize_->attributes,
                      dequantize_->name + "/ordered", dequantize_->domain);
  }

 private:
  bool has_channels(ValueId id) const {
    if (!id.valid() || !g_.value(id).is_constant()) return false;
    const Tensor& t = g_.value(id).constant;
    return t.rank() > 0 && t.dim(0) == channels_ && bits(t.type()) % 8 == 0;
  }
  ValueId ordered(Patch& patch, ValueId id, int64_t places) const {
    const Value& v = g_.value(id);
    return patch.constant(v.name + "/ordered", by_places(v.constant, places));
  }

  const Graph& g_;
  ValueId id_;
  int64_t channels_;
  bool known_ = true;
  const Node* dequantize_ = nullptr;
};

} // namespace

std::optional<Patch> order_depth(const RuleContext& c, const Node& node) {
  if (!node.is("DepthToSpace") || node.attr_string("mode", "DCR") != "CRD") return std::nullopt;
  const int64_t block = node.attr_int("blocksize", 0);
  const Node* conv = conv_before(c, node.input(0));
  if (!conv || block < 2 || block > 256) return std::nullopt;
  const TypeInfo& weights = c.graph.value(conv->input(1)).type;
  if (!weights.has_rank() || weights.rank() != 4 || conv->attr_int("group", 1) != 1)
    return std::nullopt;
  const int64_t channels = (*weights.shape)[0].maybe_value().value_or(0), places = block * block;
  if (channels == 0 || channels % places != 0) return std::nullopt;
  const Parameter kernel(c.graph, conv->input(1), channels);
  if (!kernel.is_known()) return std::nullopt;
  std::optional<Parameter> bias;
  if (conv->input(2).valid()) {
    bias.emplace(c.graph, conv->input(2), channels);
    if (!bias->is_known()) return std::nullopt;
  }
  Patch patch(c.graph, "channels lie as places read them", Exactness::kExact);
  patch.from(node);
  patch.set_input(conv->id, 1, kernel.ordered(patch, places));
  if (bias) patch.set_input(conv->id, 2, bias->ordered(patch, places));
  Attributes attributes = node.attributes;
  attributes["mode"].value = std::string("DCR");
  patch.replace(node.output(0),
                patch.emit("DepthToSpace", {node.input(0)}, std::move(attributes), node.name));
  return patch;
}

} // namespace octet::lowering
