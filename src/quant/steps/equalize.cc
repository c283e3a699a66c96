// SPDX-License-Identifier: Apache-2.0
//   op(x, V, b) ─▶ f ─▶ op(., W, d)   =>   op(x, V / s, b / s - c) ─▶ f ─▶ op(., s W, d + s W c)
// f is what a factor above 0 passes (channel_pair.h). s = sqrt(r1 / r2) makes the largest |V| of a
// channel, r1, and that of its |W|, r2, equal; pairs share layers, so all are gone through until
// nothing moves. c is the smallest number that a channel had in front of f, where that is above 0.
// The numbers of the float network stay up to rounding, as long as no channel comes below its c.
// Source: Nagel et al. 2019 (Data-Free Quantization), equation 11 and section 4.1.3.
#include <algorithm>
#include <cmath>
#include <map>

#include "graph/label.h"
#include "graph/node_names.h"
#include "quant/calibrate.h"
#include "quant/channels.h"
#include "quant/place.h"
#include "quant/statistics/channel_magnitude.h"
#include "quant/statistics/channel_minimum.h"
#include "quant/steps/channel_pair.h"
#include "quant/steps/rounding_noise.h"
#include "quant/steps/step.h"

namespace octet {

namespace {

/// Sums over the axis of the second's weights that its input is on: W c for each output.
std::vector<double>
moved_bias(const Graph& graph, const ChannelConstant& weights, std::span<const double> c) {
  const Node& node = graph.node(weights.node);
  const Tensor& w = *graph.constant(node.input(weights.input));
  const std::vector<float> values = w.to_floats().value();
  const Layout in = layout_of(w, weights.axis);
  const Layout out = layout_of(w, output_axis(node, weights.axis));
  std::vector<double> sums(static_cast<size_t>(out.channels));
  for (size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    sums[static_cast<size_t>(at / out.inner % out.channels)] +=
        static_cast<double>(values[i]) * c[static_cast<size_t>(at / in.inner % in.channels)];
  }
  return sums;
}

void add_to_bias(SteppedGraph& stepped, NodeId id, std::span<const double> delta) {
  const Graph& graph = stepped.graph();
  const ValueId bias = graph.node(id).input(2);
  std::vector<float> values = graph.constant(bias)->to_floats().value();
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(static_cast<double>(values[i]) + delta[i]);
  stepped.set_constant(
      id, 2,
      Tensor::of<float>({static_cast<int64_t>(values.size())}, std::span<const float>(values)),
      graph.value(bias).name + "_absorbed");
}

Status absorb(SteppedGraph& stepped, const ChannelPair& pair, std::span<const double> c) {
  const Graph& graph = stepped.graph();
  if (!pair.absorbs)
    return error("{} and {} cannot absorb: one has no bias for it, or zeros are padded between",
                 label(graph, graph.node(pair.first)), label(graph, graph.node(pair.second)));
  std::vector<double> less;
  less.reserve(c.size());
  for (const double v : c)
    less.push_back(-v);
  add_to_bias(stepped, pair.first, less);
  add_to_bias(stepped, pair.second, moved_bias(graph, pair.consumer, along_consumer(pair, c)));
  return ok_status();
}

/// A pair, and what equalization makes of it.
struct EvenedPair {
  ChannelPair pair;
  std::vector<double> s;
  double before = 0, after = 0; ///< variance of the second's output
};

/// What was seen of the input of a product.
struct SeenInput {
  ChannelMagnitude seen;
  std::vector<double> squares;
};

using SeenInputs = std::map<ValueId, SeenInput>;

/// Finds the factors of all pairs together, without changing the graph.
class Equalizer {
 public:
  Equalizer(const Graph& graph, std::vector<EvenedPair>& all) : graph_(graph), all_(all) {
    for (EvenedPair& candidate : all_)
      candidate.s.assign(static_cast<size_t>(candidate.pair.channels), 1.0);
    for (const EvenedPair& candidate : all_) {
      load(candidate.pair.first);
      load(candidate.pair.second);
    }
  }

  void run() {
    constexpr int kMostRounds = 100;
    constexpr double kStill = 1e-4;
    for (int round = 0; round < kMostRounds; ++round) {
      double moved = 0;
      for (EvenedPair& candidate : all_)
        moved = std::max(moved, even_out(candidate));
      if (moved < kStill) break;
    }
    for (EvenedPair& candidate : all_)
      for (double& s : candidate.s) {
        constexpr double kSmallest = 1e-4, kLargest = 1e4;
        s = static_cast<double>(static_cast<float>(std::clamp(s, kSmallest, kLargest)));
      }
  }

 private:
  void load(NodeId node) {
    const Tensor& w = *graph_.constant(graph_.node(node).input(1));
    weights_.try_emplace(node, w.to_doubles().value());
  }

  /// The largest |w| of each index of the axis, `inner` of which are one channel.
  std::vector<double> largest(const ChannelConstant& at, int64_t channels, int64_t inner) const {
    const Layout layout = layout_of(*graph_.constant(graph_.node(at.node).input(1)), at.axis);
    std::vector<double> out(static_cast<size_t>(channels));
    const std::vector<double>& w = weights_.at(at.node);
    for (size_t i = 0; i < w.size(); ++i) {
      const int64_t index = static_cast<int64_t>(i) / layout.inner % layout.channels;
      double& top = out[static_cast<size_t>(index / inner)];
      top = std::max(top, std::fabs(w[i]));
    }
    return out;
  }

  void scale(const ChannelConstant& at, int64_t inner, std::span<const double> factors) {
    const Layout layout = layout_of(*graph_.constant(graph_.node(at.node).input(1)), at.axis);
    std::vector<double>& w = weights_.at(at.node);
    for (size_t i = 0; i < w.size(); ++i) {
      const int64_t index = static_cast<int64_t>(i) / layout.inner % layout.channels;
      w[i] *= factors[static_cast<size_t>(index / inner)];
    }
  }

  /// How far the factor that moved most is from 1.
  double even_out(EvenedPair& candidate) {
    const ChannelPair& pair = candidate.pair;
    const std::vector<double> first = largest(pair.makers.front(), pair.channels, 1);
    const std::vector<double> second = largest(pair.consumer, pair.channels, pair.inner);
    std::vector<double> s(first.size(), 1.0), reciprocal(first.size(), 1.0);
    double moved = 0;
    for (size_t c = 0; c < s.size(); ++c) {
      if (!std::isnormal(first[c]) || !std::isnormal(second[c])) continue;
      s[c] = std::sqrt(first[c] / second[c]);
      reciprocal[c] = 1 / s[c];
      candidate.s[c] *= s[c];
      moved = std::max(moved, std::fabs(s[c] - 1));
    }
    scale(pair.makers.front(), 1, reciprocal);
    scale(pair.consumer, pair.inner, s);
    return moved;
  }

  const Graph& graph_;
  std::vector<EvenedPair>& all_;
  std::map<NodeId, std::vector<double>> weights_;
};

/// What rounding both layers of a pair does to the output of the second.
class PairError {
 public:
  PairError(const Fitting& f, const SeenInputs& inputs, const std::vector<EvenedPair>& all)
      : f_(f), inputs_(inputs) {
    for (const EvenedPair& candidate : all) {
      behind_[candidate.pair.first] = candidate.s;
      before_[candidate.pair.second] = along_consumer(candidate.pair, candidate.s);
    }
  }

  double operator()(const ChannelPair& pair) const {
    const std::vector<double> first = noise(pair.first);
    const std::vector<double> second = noise(pair.second);
    double sum = 0;
    for (const double n : second)
      sum += n;
    const Tensor& w = *f_.graph.constant(f_.graph.node(pair.second).input(1));
    const std::vector<float> values = w.to_floats().value();
    const Layout in = layout_of(w, pair.consumer.axis);
    for (size_t i = 0; i < values.size(); ++i) {
      const int64_t index = static_cast<int64_t>(i) / in.inner % in.channels;
      sum += first[static_cast<size_t>(index / pair.inner)] * static_cast<double>(values[i]) *
             static_cast<double>(values[i]);
    }
    return sum / static_cast<double>(std::max<size_t>(second.size(), 1));
  }

 private:
  std::vector<double> noise(NodeId id) const {
    const Node& node = f_.graph.node(id);
    const SeenInput& input = inputs_.at(node.input(0));
    const auto factors = before_.find(id);
    const auto divisors = behind_.find(id);
    const NodeFormat format = node_format(f_.options, node);
    ScaledProduct product{.weights = {id, 1, ScaledProduct::kNoAxis},
                          .squares = input.squares,
                          .in = {},
                          .out = {},
                          .input_step = 0};
    double mean = 0;
    if (const auto weights = input_weights(f_.graph, node)) {
      product.weights = *weights;
    } else {
      for (const double v : input.squares)
        mean += v / static_cast<double>(input.squares.size());
      product.squares = std::span(&mean, 1);
    }
    if (factors != before_.end()) product.in = factors->second;
    if (divisors != behind_.end()) product.out = divisors->second;
    product.input_step = input_step(input.seen.largest(), product.in, format.activation_bits);
    return rounding_noise(f_.graph, product, format);
  }

  const Fitting& f_;
  const SeenInputs& inputs_;
  std::map<NodeId, std::vector<double>> before_, behind_;
};

/// Channels of what a product reads.
int64_t input_channels(const Graph& graph, const Node& node) {
  const Tensor& w = *graph.constant(node.input(1));
  if (node.is("Conv")) return w.dim(1) * node.attr_int("group", 1);
  return w.dim(node.is("Gemm") && node.attr_int("transB", 0) != 0 ? 1 : 0);
}

class EqualizeFitter {
 public:
  explicit EqualizeFitter(const Fitting& f) : f_(f), graph_(f.graph), stepped_(graph_) {}

  Result<std::vector<PlanStep>> run() {
    OCTET_TRY(find());
    if (all_.empty()) return std::vector<PlanStep>();
    OCTET_TRY(look_at_inputs());
    choose();
    std::vector<PlanStep> out;
    out.reserve(all_.size());
    for (const EvenedPair& candidate : all_)
      out.push_back(step_of(candidate));
    OCTET_TRY(absorb_biases(out));
    return out;
  }

 private:
  /// Pairs of layers that both become integer.
  Status find() {
    std::set<NodeId> products;
    const NodeNames nodes(f_.graph);
    for (const NodePlan& node : OCTET_TRY(place(f_.graph, f_.placement, f_.options)))
      if (node.quantized && node.rule == Placed::kProduct && node.weight == 1)
        products.insert(*nodes.find(node.node));
    for (const NodeId id : products) {
      auto pair = channel_pair(stepped_, id);
      if (!pair.ok() || pair->channels < 2 || !products.contains(pair->second)) continue;
      const bool fits = add_input(id) && add_input(pair->second);
      if (!fits || f_.excluded("equalize/" + f_.graph.node(id).name)) continue;
      all_.push_back({std::move(*pair), {}, 0, 0});
    }
    return ok_status();
  }

  /// False for a value that another layer reads along another axis.
  bool add_input(NodeId id) {
    const Node& node = f_.graph.node(id);
    if (node.attr_int("transA", 0) != 0) return false;
    const int64_t axis = channel_axis(node);
    const auto [known, is_new] = axes_.try_emplace(node.input(0), axis);
    if (known->second != axis) return false;
    if (is_new)
      inputs_.emplace(node.input(0),
                      SeenInput{ChannelMagnitude(axis, input_channels(f_.graph, node)), {}});
    return true;
  }

  Status look_at_inputs() {
    std::vector<StatisticRequest> requests;
    requests.reserve(inputs_.size());
    for (auto& [value, input] : inputs_)
      requests.push_back({value, &input.seen});
    OCTET_TRY(collect(f_.graph, requests, OCTET_TRY(f_.open()), f_.options, f_.samples));
    for (auto& [value, input] : inputs_)
      input.squares = input.seen.mean_squares();
    return ok_status();
  }

  /// Leaves out the pair that gains least, until all gain enough.
  void choose() {
    constexpr double kWorth = 0.95 * 0.95; // of variances: 5 % of the error
    while (!all_.empty()) {
      Equalizer(f_.graph, all_).run();
      const PairError before(f_, inputs_, {}), after(f_, inputs_, all_);
      auto worst = all_.end();
      double worst_share = kWorth;
      for (auto candidate = all_.begin(); candidate != all_.end(); ++candidate) {
        candidate->before = before(candidate->pair);
        candidate->after = after(candidate->pair);
        const double share = candidate->before > 0 ? candidate->after / candidate->before : 1;
        if (share <= worst_share) continue;
        worst_share = share;
        worst = candidate;
      }
      if (worst == all_.end()) return;
      all_.erase(worst);
    }
  }

  PlanStep step_of(const EvenedPair& candidate) const {
    const ChannelPair& pair = candidate.pair;
    Equalize step;
    step.first = f_.graph.node(pair.first).name;
    step.second = f_.graph.node(pair.second).name;
    const std::vector<float> s(candidate.s.begin(), candidate.s.end());
    const std::vector<float> zeros(s.size(), 0.0F);
    step.s = Tensor::of<float>({pair.channels}, std::span<const float>(s));
    step.absorbed = Tensor::of<float>({pair.channels}, std::span<const float>(zeros));
    PlanStep out;
    out.id = "equalize/" + step.first;
    out.before = std::sqrt(candidate.before);
    out.after = std::sqrt(candidate.after);
    const auto [low, high] = std::minmax_element(s.begin(), s.end());
    out.why = fmt::format("factors of {:.3g} to {:.3g} even out its weights and those of {}", *low,
                          *high, step.second);
    out.kind = std::move(step);
    return out;
  }

  /// Behind the factors: what a channel never comes below goes into the next layer's bias.
  Status absorb_biases(std::vector<PlanStep>& steps) {
    Graph equalized = f_.graph;
    OCTET_TRY(apply_steps(equalized, steps, StepStage::kFloat));
    std::vector<ChannelMinimum> seen;
    seen.reserve(all_.size());
    std::vector<StatisticRequest> requests;
    std::vector<size_t> places;
    for (size_t i = 0; i < all_.size(); ++i) {
      const ChannelPair& pair = all_[i].pair;
      if (!pair.absorbs) continue;
      const Node& first = equalized.node(pair.first);
      seen.emplace_back(channel_axis(first), pair.channels);
      requests.push_back({first.output(0), &seen.back()});
      places.push_back(i);
    }
    if (requests.empty()) return ok_status();
    OCTET_TRY(collect(equalized, requests, OCTET_TRY(f_.open()), f_.options, f_.samples));
    for (size_t k = 0; k < places.size(); ++k) {
      std::vector<float> c = seen[k].smallest();
      int64_t above = 0;
      for (float& v : c) {
        v = std::isfinite(v) ? std::max(v, 0.0F) : 0.0F;
        above += v > 0 ? 1 : 0;
      }
      if (above == 0) continue;
      PlanStep& step = steps[places[k]];
      std::get<Equalize>(step.kind).absorbed =
          Tensor::of<float>({static_cast<int64_t>(c.size())}, std::span<const float>(c));
      step.why += fmt::format("; {} of {} channels give part of their bias to it", above, c.size());
    }
    return ok_status();
  }

  const Fitting& f_;
  Graph graph_; ///< what `stepped_` looks at
  SteppedGraph stepped_;
  std::map<ValueId, int64_t> axes_;
  SeenInputs inputs_;
  std::vector<EvenedPair> all_;
};

/// The numbers of a step's vector. Errors: another shape, a number that `fits` refuses.
Result<std::vector<double>> numbers(const Tensor& of,
                                    const char* name,
                                    int64_t channels,
                                    bool (*fits)(double),
                                    const char* expected) {
  if (of.type() != DType::kFloat32 || of.shape() != Shape{channels})
    return error("{} has the shape {}, there are {} channels", name, to_string(of.shape()),
                 channels);
  std::vector<double> out = OCTET_TRY(of.to_doubles());
  for (const double v : out)
    if (!std::isfinite(v) || !fits(v)) return error("{} holds {}, not {}", name, v, expected);
  return out;
}

} // namespace

Status apply(SteppedGraph& stepped, const Equalize& step) {
  const NodeId first = OCTET_TRY(stepped.node(step.first));
  const NodeId second = OCTET_TRY(stepped.node(step.second));
  const ChannelPair pair = OCTET_TRY(channel_pair(stepped, first));
  if (pair.second != second)
    return error("\"{}\" is not the next product behind \"{}\"", step.second, step.first);
  const std::vector<double> s = OCTET_TRY(numbers(
      step.s, "s", pair.channels, [](double v) { return v > 0; }, "above 0"));
  const std::vector<double> c = OCTET_TRY(numbers(
      step.absorbed, "absorbed", pair.channels, [](double v) { return v >= 0; }, "0 or more"));
  std::vector<double> reciprocal;
  reciprocal.reserve(s.size());
  for (const double v : s)
    reciprocal.push_back(1 / v);
  for (const ChannelConstant& maker : pair.makers)
    multiply(stepped, maker, reciprocal, "_equalized");
  multiply(stepped, pair.consumer, along_consumer(pair, s), "_equalized");
  const bool any = std::any_of(c.begin(), c.end(), [](double v) { return v != 0; });
  return any ? absorb(stepped, pair, c) : ok_status();
}

void members(Equalize& step, StepMembers& to) {
  to.text("first", step.first);
  to.text("second", step.second);
  to.vector("s", step.s);
  to.vector("absorbed", step.absorbed);
}

Result<std::vector<PlanStep>> fit_equalize(const Fitting& fitting) {
  return EqualizeFitter(fitting).run();
}

} // namespace octet
