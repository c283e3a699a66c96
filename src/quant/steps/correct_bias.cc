// SPDX-License-Identifier: Apache-2.0
//   op(x, W, b)  =>  op(x, W, b + delta)      MatMul(x, W) ─▶ Add(b) alike
// delta is the mean that an output has in the float network less the one that it has in the
// quantized network, where all layers before it are corrected already: one pass over the data for
// each layer in a row, layers side by side share one.
// Source: Nagel et al. 2019 (Data-Free Quantization), section 4.2.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/format.h"
#include "graph/label.h"
#include "graph/node_names.h"
#include "quant/apply.h"
#include "quant/bias_site.h"
#include "quant/calibrate.h"
#include "quant/statistics/channel_mean.h"
#include "quant/steps/node_levels.h"
#include "quant/steps/output_statistics.h"
#include "quant/steps/step.h"

namespace octet {

namespace {

struct Site : BiasSite {
  size_t level = 0;           ///< how many sites are before it, on the longest way
  std::vector<double> wanted; ///< means in the float network
};

class Finder {
 public:
  explicit Finder(const Fitting& f) : f_(f), uses_(f.graph) {}

  Result<std::vector<Site>> run() {
    std::map<NodeId, Site> found;
    std::set<NodeId> nodes;
    const NodeNames names(f_.graph);
    for (const NodePlan& plan : f_.plan.nodes)
      if (plan.quantized && plan.rule == Placed::kProduct && plan.weight && f_.takes(plan))
        if (const auto site = site_of(f_.graph.node(*names.find(plan.node))))
          if (found.emplace(site->node, *site).second) nodes.insert(site->node);
    std::vector<Site> out;
    const auto levels = OCTET_TRY(levels_of(f_.graph, nodes));
    for (size_t level = 0; level < levels.size(); ++level)
      for (const NodeId id : levels[level]) {
        out.push_back(found.at(id));
        out.back().level = level;
      }
    return out;
  }

 private:
  std::optional<Site> site_of(const Node& product) const {
    const auto site = bias_site(f_.graph, uses_, f_.placement, product);
    if (!site || f_.excluded("correct-bias/" + f_.graph.node(site->node).name)) return std::nullopt;
    return Site{*site, 0, {}};
  }

  const Fitting& f_;
  Uses uses_;
};

/// The means of the sites' outputs in a graph that has their nodes by name.
Result<std::vector<std::vector<double>>>
means_in(const Fitting& f, const Graph& graph, std::span<const Site> sites) {
  const std::vector<ChannelMean> seen = OCTET_TRY(observe_outputs(
      f, graph, sites, [](const Site& site) { return ChannelMean(site.axis, site.channels); }));
  std::vector<std::vector<double>> out;
  out.reserve(seen.size());
  for (const ChannelMean& mean : seen)
    out.push_back(OCTET_TRY(mean.means()));
  return out;
}

double root_mean_square(std::span<const double> errors) {
  double sum = 0;
  for (const double e : errors)
    sum += e * e;
  return std::sqrt(sum / static_cast<double>(errors.size()));
}

std::vector<double> errors_of(const Site& site, std::span<const double> means) {
  std::vector<double> out;
  for (size_t c = 0; c < means.size(); ++c)
    out.push_back(site.wanted[c] - means[c]);
  return out;
}

class Fitter {
 public:
  explicit Fitter(const Fitting& f) : f_(f), plan_(f.plan) {}

  Result<std::vector<PlanStep>> run() {
    sites_ = OCTET_TRY(Finder(f_).run());
    if (sites_.empty()) return std::vector<PlanStep>();
    auto wanted = OCTET_TRY_WITH(means_in(f_, f_.graph, sites_), "float network");
    for (size_t i = 0; i < sites_.size(); ++i)
      sites_[i].wanted = std::move(wanted[i]);
    const size_t first = plan_.steps.size();
    for (size_t begin = 0, end = 0; begin < sites_.size(); begin = end) {
      while (end < sites_.size() && sites_[end].level == sites_[begin].level)
        ++end;
      OCTET_TRY(correct(std::span(sites_).subspan(begin, end - begin)));
    }
    std::vector<PlanStep> out(plan_.steps.begin() + static_cast<std::ptrdiff_t>(first),
                              plan_.steps.end());
    const auto after = OCTET_TRY(means_in(f_, OCTET_TRY(quantized()), sites_));
    for (size_t i = 0; i < sites_.size(); ++i)
      out[i].after = root_mean_square(errors_of(sites_[i], after[i]));
    return out;
  }

 private:
  /// The quantized network with the corrections so far.
  Result<Graph> quantized() const {
    Graph out = f_.graph;
    OCTET_TRY(apply_behind_ranges(out, plan_, f_.placement, WeightStorage::kTarget));
    return out;
  }

  Status correct(std::span<const Site> sites) {
    const auto means = OCTET_TRY(means_in(f_, OCTET_TRY(quantized()), sites));
    std::vector<std::string> needs;
    for (const PlanStep& step : plan_.steps)
      if (stage(step.kind) != StepStage::kBias || latest_.contains(step.id))
        needs.push_back(step.id);
    latest_.clear();
    for (size_t i = 0; i < sites.size(); ++i) {
      const std::string& name = f_.graph.node(sites[i].node).name;
      const std::vector<double> errors = errors_of(sites[i], means[i]);
      const std::vector<float> delta(errors.begin(), errors.end());
      PlanStep step;
      step.id = "correct-bias/" + name;
      step.kind =
          CorrectBias{{name, static_cast<int64_t>(sites[i].input)},
                      Tensor::of<float>({sites[i].channels}, std::span<const float>(delta))};
      step.needs = needs;
      step.before = root_mean_square(errors);
      step.why = fmt::format("rounding moves the mean of its {} outputs", sites[i].channels);
      latest_.insert(step.id);
      plan_.steps.push_back(std::move(step));
    }
    return ok_status();
  }

  const Fitting& f_;
  QuantizationPlan plan_;
  std::vector<Site> sites_;
  std::set<std::string> latest_; ///< steps of the level before, which need those of theirs
};

} // namespace

Status apply(SteppedGraph& stepped, const CorrectBias& step) {
  const NodeId id = OCTET_TRY(stepped.node(step.bias.node));
  const Graph& graph = stepped.graph();
  const Node& node = graph.node(id);
  if (step.bias.input < 0) return error("{} has no input {}", label(graph, node), step.bias.input);
  const auto input = static_cast<size_t>(step.bias.input);
  const int64_t channels = OCTET_TRY(bias_channels(graph, node, input));
  if (step.delta.type() != DType::kFloat32 || step.delta.shape() != Shape{channels})
    return error("delta has the shape {}, the bias of {} has {} channels",
                 to_string(step.delta.shape()), label(graph, node), channels);
  return add_to_bias(stepped, id, input, OCTET_TRY(step.delta.to_floats()));
}

void members(CorrectBias& step, StepMembers& to) {
  to.input("bias", step.bias);
  to.vector("delta", step.delta);
}

Result<std::vector<PlanStep>> fit_correct_bias(const Fitting& fitting) {
  return Fitter(fitting).run();
}

} // namespace octet
