// SPDX-License-Identifier: Apache-2.0
//   op(x, W, b), into which a BatchNormalization was folded  =>  op(x, factor W, factor b + delta)
// The statistics of the normalization are taken again where the network in front of it is quantized,
// and folded again: y = g (z - m') / sqrt(v' + e) + beta with the mean m' and the variance v' that z
// has now. In what the folded product makes, a z + c with a = g / sqrt(v + e), that is a factor
// sqrt((t + g^2 e / (v + e)) / (t' + g^2 e / (v + e))) and an offset by channel, where t and t' are
// the variances of the product's output before and now. W takes the factor with its scale, so that
// codes stay. One pass over the data for each layer in a row, layers side by side share one.
// Source: Sun et al. 2019 (Hybrid 8-bit Floating Point) and Shen et al. 2023
// (arXiv:2309.14592). What mean and variance were is measured in the float network on
// the same data, so that what the data differ in from those of training is left out.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/format.h"
#include "graph/label.h"
#include "quant/apply.h"
#include "quant/calibrate.h"
#include "quant/statistics/channel_moments.h"
#include "quant/steps/channel_constants.h"
#include "quant/steps/node_levels.h"
#include "quant/steps/output_statistics.h"
#include "quant/steps/rounded_layer.h"
#include "quant/weight_plans.h"

namespace octet {

namespace {

/// A variance that rounding changed by more than the square of this is that of a channel that is
/// constant on the data in one of the two networks: it keeps its factor.
constexpr double kMostFactor = 4;

/// g^2 e / (v + e) of each channel of a normalization in inference mode; empty: it is none, or its
/// numbers are no constants.
std::vector<double> floor_of(const Graph& graph, const Node& norm) {
  constexpr size_t kGamma = 1, kVariance = 4;
  if (!norm.is("BatchNormalization") || norm.attr_int("training_mode", 0) != 0) return {};
  const Tensor *gamma = graph.constant(norm.input(kGamma)),
               *variance = graph.constant(norm.input(kVariance));
  if (gamma == nullptr || variance == nullptr || gamma->count() != variance->count()) return {};
  const auto epsilon = static_cast<double>(norm.attr_float("epsilon", 1e-5F));
  std::vector<double> out;
  for (int64_t c = 0; c < gamma->count(); ++c)
    out.push_back(gamma->at(c) * gamma->at(c) * epsilon / (variance->at(c) + epsilon));
  return out;
}

/// The weights and the bias of a product that a factor and an offset for each output channel can go
/// into.
struct Constants {
  ChannelConstant weights, bias;
  int64_t channels = 0;
};

Result<Constants> constants_of(const Graph& graph, const Node& node) {
  const Tensor* bias = f32_constant(graph, node, 2);
  const bool product = node.is("Conv") || node.is("Gemm");
  const auto all = product && bias != nullptr && bias->rank() == 1
                       ? output_constants(graph, node, bias->dim(0))
                       : std::vector<ChannelConstant>();
  if (all.size() != 2 || node.attr_float("beta", 1.0F) != 1.0F)
    return error("{} is no Conv or Gemm with constant weights and a bias for each output",
                 label(graph, node));
  return Constants{all[0], all[1], bias->dim(0)};
}

/// Whether its scales can take a factor for each output.
bool takes_factors(const TensorPlan& tensor, const WeightForm& form) {
  if (tensor.scheme.scale != DType::kFloat32) return false;
  if (tensor.algorithm == kDirect) return true; // each output gets a scale
  return tensor.axis == (tensor.block > 0 ? form.block_axis() : form.axis);
}

struct NormSite {
  NodeId node;
  int64_t axis = 1; ///< of the output: its channels
  std::vector<double> floor;
  bool factors = false; ///< its weights take them; else means alone are corrected
  std::vector<ChannelMoments::Moments> wanted;
};

/// The moments of what the sites make in a graph that has their nodes by name.
Status take_moments(const Fitting& f,
                    const Graph& graph,
                    std::span<const NormSite> sites,
                    std::vector<std::vector<ChannelMoments::Moments>>& out) {
  const std::vector<ChannelMoments> seen =
      OCTET_TRY(observe_outputs(f, graph, sites, [](const NormSite& site) {
        return ChannelMoments(site.axis, static_cast<int64_t>(site.floor.size()));
      }));
  out.clear();
  for (const ChannelMoments& moments : seen)
    out.push_back(OCTET_TRY(moments.moments()));
  return ok_status();
}

/// Root mean square over channels, of mean and standard deviation together.
double distance(const NormSite& site, std::span<const ChannelMoments::Moments> now) {
  double sum = 0;
  for (size_t c = 0; c < now.size(); ++c) {
    const double mean = now[c].mean - site.wanted[c].mean,
                 deviation = std::sqrt(now[c].variance) - std::sqrt(site.wanted[c].variance);
    sum += mean * mean + deviation * deviation;
  }
  return std::sqrt(sum / static_cast<double>(now.size()));
}

class NormFitter {
 public:
  explicit NormFitter(const Fitting& f) : f_(f), plan_(f.plan) {}

  Result<std::vector<PlanStep>> run() {
    OCTET_TRY(find());
    if (sites_.empty()) return std::vector<PlanStep>();
    std::vector<std::vector<ChannelMoments::Moments>> moments;
    OCTET_TRY_WITH(take_moments(f_, f_.graph, sites_, moments), "float network");
    for (size_t i = 0; i < sites_.size(); ++i)
      sites_[i].wanted = std::move(moments[i]);
    const size_t first = plan_.steps.size();
    for (size_t begin = 0; begin < sites_.size();) {
      const size_t count = level_sizes_.at(level_++);
      OCTET_TRY(estimate(std::span(sites_).subspan(begin, count)));
      begin += count;
    }
    std::vector<PlanStep> out(plan_.steps.begin() + static_cast<std::ptrdiff_t>(first),
                              plan_.steps.end());
    OCTET_TRY(take_moments(f_, OCTET_TRY(quantized()), sites_, moments));
    for (size_t i = 0; i < sites_.size(); ++i)
      out[i].after = distance(sites_[i], moments[i]);
    return out;
  }

 private:
  /// Products that make what a normalization of the float graph made.
  Status find() {
    if (f_.given == nullptr) return ok_status();
    std::map<NodeId, NormSite> found;
    std::set<NodeId> nodes;
    for (const NodeId id : f_.given->nodes()) {
      const Node& norm = f_.given->node(id);
      std::vector<double> floor = floor_of(*f_.given, norm);
      const auto value =
          floor.empty() ? std::nullopt : f_.graph.find_value(f_.given->value(norm.output(0)).name);
      const Node* product = value ? f_.graph.producer(*value) : nullptr;
      if (product == nullptr) continue;
      if (auto site = site_of(*product, std::move(floor))) {
        found.emplace(product->id, std::move(*site));
        nodes.insert(product->id);
      }
    }
    for (const std::vector<NodeId>& level : OCTET_TRY(levels_of(f_.graph, nodes))) {
      level_sizes_.push_back(level.size());
      for (const NodeId id : level)
        sites_.push_back(std::move(found.at(id)));
    }
    return ok_status();
  }

  std::optional<NormSite> site_of(const Node& product, std::vector<double> floor) const {
    const auto constants = constants_of(f_.graph, product);
    const NodePlan* node_plan = f_.plan.node(product.name);
    if (!constants.ok() || constants->channels != static_cast<int64_t>(floor.size()) ||
        node_plan == nullptr || node_plan->rule == Placed::kDynamic || !f_.takes(*node_plan) ||
        f_.excluded("reestimate-bn/" + product.name))
      return std::nullopt;
    NormSite out;
    out.node = product.id;
    out.axis = channel_axis(product);
    out.floor = std::move(floor);
    const auto form = weight_form(f_.graph, product, 1);
    const TensorPlan* tensor = f_.plan.tensor(f_.graph.value(product.input(1)).name);
    out.factors = form.ok() && Uses(f_.graph).count(product.input(1)) == 1 &&
                  (tensor == nullptr || takes_factors(*tensor, *form));
    return out;
  }

  /// The quantized network with the estimates so far.
  Result<Graph> quantized() const {
    Graph out = f_.graph;
    OCTET_TRY(apply_behind_ranges(out, plan_, f_.placement, WeightStorage::kTarget));
    return out;
  }

  Status estimate(std::span<const NormSite> sites) {
    std::vector<std::vector<ChannelMoments::Moments>> moments;
    OCTET_TRY(take_moments(f_, OCTET_TRY(quantized()), sites, moments));
    std::vector<std::string> needs;
    for (const PlanStep& step : plan_.steps)
      if (stage(step.kind) != StepStage::kBias || latest_.contains(step.id))
        needs.push_back(step.id);
    latest_.clear();
    for (size_t i = 0; i < sites.size(); ++i) {
      plan_.steps.push_back(step_of(sites[i], moments[i]));
      plan_.steps.back().needs = needs;
      latest_.insert(plan_.steps.back().id);
    }
    return ok_status();
  }

  PlanStep step_of(const NormSite& site, std::span<const ChannelMoments::Moments> now) const {
    std::vector<float> factor, delta;
    int64_t scaled = 0;
    for (size_t c = 0; c < now.size(); ++c) {
      const double ratio =
          std::sqrt((site.wanted[c].variance + site.floor[c]) / (now[c].variance + site.floor[c]));
      const bool taken = site.factors && ratio <= kMostFactor && ratio >= 1 / kMostFactor;
      factor.push_back(taken ? static_cast<float>(ratio) : 1.0F);
      scaled += factor.back() != 1 ? 1 : 0;
      delta.push_back(static_cast<float>(site.wanted[c].mean -
                                         static_cast<double>(factor.back()) * now[c].mean));
    }
    const auto channels = static_cast<int64_t>(now.size());
    const std::string& name = f_.graph.node(site.node).name;
    PlanStep out;
    out.id = "reestimate-bn/" + name;
    out.kind =
        ReestimateBatchNorm{name, Tensor::of<float>({channels}, std::span<const float>(factor)),
                            Tensor::of<float>({channels}, std::span<const float>(delta))};
    out.before = distance(site, now);
    out.why = site.factors
                  ? fmt::format("mean and variance of {} channels, {} with another factor",
                                channels, scaled)
                  : fmt::format("means of {} channels; its scales take no factors", channels);
    return out;
  }

  const Fitting& f_;
  QuantizationPlan plan_;
  std::vector<NormSite> sites_; ///< level by level
  std::vector<size_t> level_sizes_;
  size_t level_ = 0;
  std::set<std::string> latest_; ///< steps of the level before, which need those of theirs
};

/// One for each output channel, each above 0.
Result<std::vector<float>> factors_of(const ReestimateBatchNorm& step, int64_t channels) {
  if (step.factor.type() != DType::kFloat32 || step.factor.shape() != Shape{channels} ||
      step.delta.type() != DType::kFloat32 || step.delta.shape() != Shape{channels})
    return error("factors have the shape {} and offsets {}, \"{}\" has {} channels",
                 to_string(step.factor.shape()), to_string(step.delta.shape()), step.node,
                 channels);
  std::vector<float> out = OCTET_TRY(step.factor.to_floats());
  for (const float factor : out)
    if (!std::isnormal(factor) || !(factor > 0)) return error("factors hold {}", factor);
  return out;
}

bool all_one(std::span<const float> factors) {
  return std::all_of(factors.begin(), factors.end(), [](float f) { return f == 1; });
}

} // namespace

Status apply(SteppedGraph& stepped, const ReestimateBatchNorm& step) {
  const NodeId id = OCTET_TRY(stepped.node(step.node));
  const Graph& graph = stepped.graph();
  const Node& node = graph.node(id);
  const Constants at = OCTET_TRY(constants_of(graph, node));
  const std::vector<float> factors = OCTET_TRY(factors_of(step, at.channels));
  if (!all_one(factors) && stepped.uses().count(node.input(1)) != 1)
    return error("others than {} read \"{}\": it takes no factors", label(graph, node),
                 graph.value(node.input(1)).name);
  std::vector<float> bias = OCTET_TRY(graph.constant(node.input(2))->to_floats());
  for (size_t c = 0; c < bias.size(); ++c)
    bias[c] = static_cast<float>(static_cast<double>(bias[c]) * static_cast<double>(factors[c]) +
                                 step.delta.at(static_cast<int64_t>(c)));
  const std::string name = graph.value(node.input(2)).name + "_reestimated";
  if (!all_one(factors))
    multiply(stepped, at.weights, std::vector<double>(factors.begin(), factors.end()),
             "_reestimated");
  stepped.set_constant(id, 2, Tensor::of<float>({at.channels}, std::span<const float>(bias)), name);
  return ok_status();
}

Status
choose_ranges(const Graph& graph, const ReestimateBatchNorm& step, std::vector<TensorPlan>& plans) {
  const auto node = graph.find_node(step.node);
  if (!node || !constants_of(graph, graph.node(*node)).ok()) return ok_status(); // apply says it
  const WeightForm form = OCTET_TRY(weight_form(graph, graph.node(*node), 1));
  const std::vector<float> factors = OCTET_TRY(factors_of(step, form.outputs));
  const std::string& value = graph.value(graph.node(*node).input(1)).name;
  const auto tensor = std::find_if(plans.begin(), plans.end(),
                                   [&](const TensorPlan& t) { return t.value == value; });
  if (tensor == plans.end() || all_one(factors)) return ok_status();
  if (!takes_factors(*tensor, form))
    return error("the scales of \"{}\" take no factor for each of {} outputs", value, form.outputs);
  WeightForm blocks = form;
  blocks.block = tensor->block;
  if (tensor->algorithm == kDirect && !tensor->axis) {
    tensor->axis = form.axis;
    tensor->ranges.assign(factors.size(), tensor->ranges.front());
  }
  if (static_cast<int64_t>(tensor->ranges.size()) != form.outputs * blocks.parts())
    return error("the plan has {} ranges of \"{}\", which has {} outputs", tensor->ranges.size(),
                 value, form.outputs);
  for (int64_t output = 0; output < form.outputs; ++output)
    for (int64_t part = 0; part < blocks.parts(); ++part) {
      Range& range = tensor->ranges[static_cast<size_t>(blocks.scale(output, part))];
      const auto factor = static_cast<double>(factors[static_cast<size_t>(output)]);
      range = {range.lo * factor, range.hi * factor};
    }
  return ok_status();
}

void members(ReestimateBatchNorm& step, StepMembers& to) {
  to.text("node", step.node);
  to.vector("factor", step.factor);
  to.vector("delta", step.delta);
}

Result<std::vector<PlanStep>> fit_reestimate_bn(const Fitting& fitting) {
  return NormFitter(fitting).run();
}

} // namespace octet
