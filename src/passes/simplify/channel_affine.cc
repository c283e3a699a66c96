// SPDX-License-Identifier: Apache-2.0
#include "passes/simplify/channel_affine.h"

#include <cmath>

#include "graph/live_uses.h"

namespace octet {

namespace {

/// How the weight's elements map to output channels: element / inner % channels, per group for
/// ConvTranspose.
struct WeightLayout {
  int64_t channels = 0; ///< along the axis
  int64_t inner = 1;
  int64_t outer_per_group = 0; ///< ConvTranspose: rows of one group, else 0
  int64_t channel_of(int64_t element) const {
    const int64_t in_axis = element / inner % channels;
    if (outer_per_group == 0) return in_axis;
    return element / inner / channels / outer_per_group * channels + in_axis;
  }
};

std::optional<WeightLayout> layout_of(const Node& product, const Tensor& weight) {
  const bool conv = product.is("Conv");
  const bool transposed = product.is("ConvTranspose");
  if (!conv && !transposed && !product.is("Gemm")) return std::nullopt;
  if (weight.type() != DType::kFloat32 || weight.rank() < 2) return std::nullopt;
  const int64_t axis = conv || (!transposed && product.attr_int("transB", 0) != 0) ? 0 : 1;
  WeightLayout out;
  out.channels = weight.dim(axis);
  for (int64_t d = axis + 1; d < weight.rank(); ++d)
    out.inner *= weight.dim(d);
  if (transposed) out.outer_per_group = weight.dim(0) / product.attr_int("group", 1);
  return out;
}

Tensor from_doubles(Shape shape, const std::vector<double>& values) {
  std::vector<float> floats(values.begin(), values.end());
  return Tensor::of<float>(std::move(shape), std::span<const float>(floats));
}

/// The bias with the factor of Gemm applied, one value a channel; nullopt when it is not that.
std::optional<std::vector<double>>
bias_of(const RuleContext& context, const Node& product, size_t channels) {
  const ValueId id = product.input(2);
  if (!id.valid()) return std::vector<double>(channels, 0.0);
  const Tensor* bias = context.graph.constant(id);
  if (bias == nullptr) return std::nullopt;
  auto values = bias->to_doubles();
  if (!values.ok()) return std::nullopt;
  if (values->size() == 1) values->assign(channels, (*values)[0]);
  if (values->size() != channels || (bias->rank() > 0 && bias->count() != 1 &&
                                     bias->dim(bias->rank() - 1) != static_cast<int64_t>(channels)))
    return std::nullopt;
  const double beta = product.is("Gemm") ? product.attr_float("beta", 1.0F) : 1.0;
  for (double& v : *values)
    v *= beta;
  return std::move(*values);
}

bool in_inference_mode(const RuleContext& context, const Node& norm) {
  if (norm.attr_int("training_mode", 0) != 0 || norm.attr_int("spatial", 1) == 0) return false;
  for (size_t k = 1; k < norm.outputs.size(); ++k)
    if (norm.outputs[k].valid() && context.uses.count(norm.outputs[k]) > 0) return false;
  return true;
}

} // namespace

std::optional<Patch> fold_affine(const RuleContext& context,
                                 const Node& after,
                                 const Node& product,
                                 const ChannelAffine& affine,
                                 std::string why) {
  const Graph& graph = context.graph;
  if (context.uses.single_consumer(product.output(0)) != after.id) return std::nullopt;
  const Tensor* weight = graph.constant(product.input(1));
  if (weight == nullptr || context.uses.count(product.input(1)) != 1) return std::nullopt;
  const auto layout = layout_of(product, *weight);
  if (!layout) return std::nullopt;
  const size_t channels = affine.factor.size();
  const auto bias = bias_of(context, product, channels);
  if (!bias) return std::nullopt;
  const int64_t groups = layout->outer_per_group == 0 ? 1 : product.attr_int("group", 1);
  if (layout->channels * groups != static_cast<int64_t>(channels)) return std::nullopt;

  auto w = weight->to_doubles();
  if (!w.ok()) return std::nullopt;
  for (size_t i = 0; i < w->size(); ++i)
    (*w)[i] *= affine.factor[static_cast<size_t>(layout->channel_of(static_cast<int64_t>(i)))];
  std::vector<double> b(channels);
  for (size_t c = 0; c < channels; ++c)
    b[c] = (*bias)[c] * affine.factor[c] + affine.offset[c];

  Patch patch(graph, std::move(why), Exactness::kRounding);
  patch.from(product).from(after);
  Attributes attributes = product.attributes;
  if (product.is("Gemm")) attributes["beta"].value = 1.0F;
  const std::string bias_name =
      product.input(2).valid() ? graph.value(product.input(2)).name : product.name + ".bias";
  const ValueId old_w = product.input(1);
  const ValueId old_b = product.input(2);
  const ValueId w_id = patch.constant(graph.value(old_w).name, from_doubles(weight->shape(), *w));
  const ValueId b_id = patch.constant(bias_name, from_doubles({static_cast<int64_t>(channels)}, b));
  patch.replace(after.output(0), patch.emit(product.op_type, {product.input(0), w_id, b_id},
                                            std::move(attributes), product.name));
  patch.replace(old_w, w_id); // the new constants take the old ones' names
  if (old_b.valid() && context.uses.count(old_b) == 1) patch.replace(old_b, b_id);
  return patch;
}

std::optional<ChannelAffine> affine_of_norm(const RuleContext& context, const Node& norm) {
  if (!in_inference_mode(context, norm)) return std::nullopt;
  std::vector<std::vector<double>> p;
  for (size_t i = 1; i <= 4; ++i) {
    const Tensor* constant = context.graph.constant(norm.input(i));
    if (constant == nullptr) return std::nullopt;
    auto values = constant->to_doubles();
    if (!values.ok()) return std::nullopt;
    p.push_back(std::move(*values));
    if (p.back().size() != p.front().size()) return std::nullopt;
  }
  const auto epsilon = static_cast<double>(norm.attr_float("epsilon", 1e-5F));
  ChannelAffine out;
  for (size_t c = 0; c < p[0].size(); ++c) {
    const double factor = p[0][c] / std::sqrt(p[3][c] + epsilon);
    if (!std::isfinite(factor)) return std::nullopt;
    out.factor.push_back(factor);
    out.offset.push_back(p[1][c] - factor * p[2][c]);
  }
  return out;
}

std::optional<Tensor> by_channel(const Tensor& t, int64_t rank, int64_t channels, int64_t axis) {
  if (t.rank() > rank) return std::nullopt;
  for (int64_t d = 0; d < t.rank(); ++d)
    if (t.dim(d) != 1 && d + rank - t.rank() != axis) return std::nullopt;
  if (t.count() == channels) {
    Result<Tensor> flat = t.reshaped({channels});
    return flat.ok() ? std::optional(std::move(*flat)) : std::nullopt;
  }
  if (t.count() != 1) return std::nullopt;
  Result<Tensor> filled = Tensor::from_doubles(
      t.type(), {channels}, std::vector<double>(static_cast<size_t>(channels), t.at(0)));
  return filled.ok() ? std::optional(std::move(*filled)) : std::nullopt;
}

} // namespace octet
