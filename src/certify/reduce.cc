// SPDX-License-Identifier: Apache-2.0
//   w ─▶ DQ ─▶ product, product', other   =>   w / f ─▶ DQ (scale * f) ─▶ product, product'
//                                              w ─▶ DQ ─▶ other
#include "certify/reduce.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/format.h"
#include "ops/evaluate.h"
#include "ops/qdq/bias.h"
#include "targets/checks.h"

namespace octet {

namespace {

/// Products whose weights are one tensor, in the same layout.
using Group = std::vector<const StoredProduct*>;

bool share_weights(const StoredProduct& a, const StoredProduct& b) {
  return a.codes == b.codes && a.scale == b.scale && a.rows == b.rows &&
         a.convolution == b.convolution && a.groups == b.groups && a.channels == b.channels;
}

std::vector<Group> groups_of(const std::vector<const StoredProduct*>& products) {
  std::vector<Group> out;
  for (const StoredProduct* p : products) {
    const auto found = std::find_if(out.begin(), out.end(),
                                    [&](const Group& g) { return share_weights(*g[0], *p); });
    if (found == out.end())
      out.push_back({p});
    else
      found->push_back(p);
  }
  return out;
}

std::vector<double> weights_of(const StoredProduct& p, int64_t channel) {
  const auto codes = channel_weights(p, channel);
  return {codes.begin(), codes.end()};
}

/// A factor for each scale; `scale_of` is that of each channel. The largest serves all channels of a
/// scale: a larger one never brings a pair back, but rounding might, so it is tried on all of them.
std::vector<double>
safe_factors(const Group& group, int64_t scales, std::span<const size_t> scale_of) {
  const StoredProduct& p = *group.front();
  std::vector<CodeSpan> activations;
  for (const StoredProduct* product : group)
    activations.push_back(product->span());
  std::vector<double> factors(static_cast<size_t>(scales), 1);
  for (int64_t o = 0; o < p.channels; ++o) {
    double& factor = factors[scale_of[static_cast<size_t>(o)]];
    factor = std::max(factor, least_safe_factor(weights_of(p, o), activations));
  }
  for (bool again = true; again;) {
    again = false;
    for (int64_t o = 0; o < p.channels; ++o) {
      double& factor = factors[scale_of[static_cast<size_t>(o)]];
      if (!can_saturate(weights_of(p, o), factor, activations)) continue;
      factor = next_factor(factor);
      again = true;
    }
  }
  return factors;
}

/// Codes divided by the factor of their channel.
Result<Tensor> divided(const Tensor& codes,
                       const std::vector<double>& factors,
                       const std::function<int64_t(int64_t)>& channel_of) {
  std::vector<double> out = OCTET_TRY(codes.to_doubles());
  for (size_t i = 0; i < out.size(); ++i)
    out[i] =
        std::nearbyint(out[i] / factors[static_cast<size_t>(channel_of(static_cast<int64_t>(i)))]);
  return Tensor::from_doubles(codes.type(), codes.shape(), out);
}

/// Scales multiplied by as many factors.
Result<Tensor> multiplied(const Tensor& scale, const std::vector<double>& factors) {
  std::vector<double> out = OCTET_TRY(scale.to_doubles());
  for (size_t i = 0; i < out.size(); ++i)
    out[i] *= factors[i];
  return Tensor::from_doubles(scale.type(), scale.shape(), out);
}

/// Of all directions of a recurrent layer, [D, channels of one, terms].
bool is_stacked(const StoredProduct& p) {
  return p.rows && p.stored.rank() == 3;
}

/// For each output channel the place of its scale; empty: they run along another axis.
std::vector<size_t>
scales_of_channels(const Graph& graph, const StoredProduct& p, const Tensor& scale) {
  std::vector<size_t> out(static_cast<size_t>(p.channels), 0);
  if (scale.count() == 1) return out;
  const int64_t first = p.convolution || p.rows ? 0 : 1, last = is_stacked(p) ? 1 : first;
  int64_t axis = last;
  if (const Node& holder = graph.node(p.scale.node); is_dequantize(holder)) {
    if (scale.rank() != 1) return {};
    axis = qdq::written(graph, holder).axis;
    if (axis < 0) axis += p.stored.rank();
  }
  if (axis < first || axis > last) return {};
  const int64_t inner = is_stacked(p) && axis == 0 ? p.stored.dim(1) : 1;
  for (size_t o = 0; o < out.size(); ++o)
    out[o] = o / static_cast<size_t>(inner) % static_cast<size_t>(scale.count());
  return out;
}

class Reducer {
 public:
  explicit Reducer(const Graph& graph) : graph_(graph), uses_(graph), out_(graph) {}

  Status run(const Group& group) {
    const StoredProduct& p = *group.front();
    const Tensor scale = OCTET_TRY(scale_of(p));
    const std::vector<size_t> places = scales_of_channels(graph_, p, scale);
    const std::vector<double> factors = safe_factors(group, scale.count(), places);
    std::vector<int64_t> channel_of(static_cast<size_t>(p.stored.count()));
    for (int64_t o = 0; o < p.channels; ++o)
      for (int64_t k = 0; k < p.terms; ++k)
        channel_of[static_cast<size_t>(weight_index(p, o, k))] =
            static_cast<int64_t>(places[static_cast<size_t>(o)]);
    const NodeId holder = own(p.codes.node, group, 1);
    put_input({holder, p.codes.input}, OCTET_TRY(divided(p.stored, factors, [&](int64_t i) {
                return channel_of[static_cast<size_t>(i)];
              })));
    put_input({holder, p.scale.input}, OCTET_TRY(multiplied(scale, factors)));
    return reduce_biases(group, factors);
  }

  Graph take() {
    out_.remove_dead();
    return std::move(out_);
  }

 private:
  Result<Tensor> scale_of(const StoredProduct& p) const {
    const Node& node = graph_.node(p.node);
    const std::string layer = fmt::format("certify: {} {}", node.op_type, name_of(graph_, node));
    if (!p.scale.valid())
      return error("{} has the scale of its weights in the operators behind it; write the file "
                   "with Q/DQ first: octet repair --target tensorrt-10",
                   layer);
    if (p.weight_zero)
      return error("{} has weights with a zero point; write them without first: octet repair "
                   "--target tensorrt-10",
                   layer);
    auto scale = constant_value(graph_, graph_.node(p.scale.node).input(p.scale.input));
    if (!scale) return error("{} has computed weight scales; make them constants", layer);
    if (scale->count() == 1) return *std::move(scale);
    if (!is_stacked(p) && scale->count() != p.channels)
      return error("{} has {} weight scales for {} channels; give one or one for each", layer,
                   scale->count(), p.channels);
    if (scales_of_channels(graph_, p, *scale).empty())
      return error("{} has weight scales along another axis than its output channels; give one or "
                   "one for each channel",
                   layer);
    return *std::move(scale);
  }

  /// A node that only these products read, at this input: itself, the operator of a product, or a
  /// copy of a DequantizeLinear that others read too.
  NodeId own(NodeId id, const Group& group, size_t input) {
    const Node& node = graph_.node(id);
    if (!is_dequantize(node)) return id;
    const ValueId value = node.output(0);
    size_t reads = 0;
    for (const StoredProduct* p : group)
      reads += graph_.node(p->node).input(input) == value ? 1 : 0;
    if (uses_.count(value) == static_cast<int>(reads)) return id;
    const std::string copy_name =
        fmt::format("{}/{}", name_of(graph_, graph_.node(group.front()->node)), node.name);
    const ValueId copy =
        out_.emit(node.op_type, node.inputs, node.attributes, copy_name, node.domain);
    out_.set_type(copy, graph_.value(value).type);
    for (const StoredProduct* p : group)
      if (graph_.node(p->node).input(input) == value) out_.set_node_input(p->node, input, copy);
    return out_.producer(copy)->id;
  }

  /// A tensor of a new value in place of an input.
  void put_input(const InputAt& at, Tensor tensor) {
    const std::string name = out_.value(out_.node(at.node).input(at.input)).name;
    out_.set_node_input(at.node, at.input,
                        out_.add_constant(out_.unique_name(name), std::move(tensor)));
  }

  Status reduce_biases(const Group& group, const std::vector<double>& factors) {
    Group rest = group;
    while (!rest.empty()) {
      const StoredProduct& p = *rest.front();
      const auto others =
          std::stable_partition(rest.begin(), rest.end(), [&](const StoredProduct* q) {
            return q->bias == p.bias && q->x_scale == p.x_scale; // one step of the sum
          });
      const Group same(rest.begin(), others);
      rest.erase(rest.begin(), others);
      if (p.bias.valid()) OCTET_TRY(reduce_bias(same, factors));
    }
    return ok_status();
  }

  /// int32 codes of a bias that counts in steps of the sum.
  Status reduce_bias(const Group& group, const std::vector<double>& factors) {
    const StoredProduct& p = *group.front();
    const Node& holder = graph_.node(p.bias.node);
    if (is_dequantize(holder)) return reduce_dequantized_bias(group, factors);
    const auto codes = constant_value(graph_, holder.input(p.bias.input));
    const bool one = factors.size() == 1;
    const auto factor_of = [&](int64_t i) { return one ? 0 : i % p.channels; };
    if (!codes || codes->type() != DType::kInt32 || (!one && codes->count() % p.channels != 0))
      return error("certify: {} {} has a bias that is no constant of int32 codes for each channel",
                   holder.op_type, name_of(graph_, holder));
    put_input(p.bias, OCTET_TRY(divided(*codes, factors, factor_of)));
    return ok_status();
  }

  /// Behind DQ it keeps its value by itself; where it was whole steps of the sum it stays that,
  /// since runtimes add such codes as they are.
  Status reduce_dequantized_bias(const Group& group, const std::vector<double>& factors) {
    const StoredProduct& p = *group.front();
    const Node& dequantize = graph_.node(p.bias.node);
    const auto constant = [&](ValueId id) { return constant_value(graph_, id); };
    const auto w_scale = constant(graph_.node(p.scale.node).input(p.scale.input));
    const auto bias = qdq::bias_in_steps(graph_, dequantize.output(0),
                                         qdq::sum_steps(p.x_scale, w_scale->to_doubles().value()));
    const auto codes = bias ? bias->codes() : std::nullopt;
    const bool one = factors.size() == 1;
    if (!codes || (!one && (codes->rank() != 1 || codes->count() != p.channels)))
      return ok_status();
    std::vector<double> scales;
    for (size_t i = 0; i < factors.size(); ++i)
      scales.push_back(p.x_scale * w_scale->at(static_cast<int64_t>(i)) * factors[i]);
    const Shape shape = one ? Shape{} : Shape{p.channels};
    const NodeId mine = own(dequantize.id, group, 2);
    const auto factor_of = [&](int64_t i) { return one ? 0 : i; };
    put_input({mine, p.bias.input}, OCTET_TRY(divided(*codes, factors, factor_of)));
    put_input({mine, 1}, OCTET_TRY(Tensor::from_doubles(w_scale->type(), shape, scales)));
    if (qdq::written(graph_, dequantize).zero.valid())
      put_input({mine, 2}, OCTET_TRY(Tensor::zeros(DType::kInt32, shape)));
    if (!one) out_.mutable_node(mine).set("axis", int64_t{0});
    return ok_status();
  }

  const Graph& graph_;
  Uses uses_;
  Graph out_;
};

} // namespace

Result<Graph> with_coarser_weights(const Graph& graph,
                                   const std::vector<const StoredProduct*>& products) {
  Reducer reducer(graph);
  for (const Group& group : groups_of(products))
    OCTET_TRY(reducer.run(group));
  return reducer.take();
}

} // namespace octet
