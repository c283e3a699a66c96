// SPDX-License-Identifier: Apache-2.0
//   x ─▶ op(., W)            =>   x ─▶ Mul(1 / s) ─▶ op(., s W)       other readers of x stay
//   Norm(g, b) ─▶ op(., W)   =>   Norm(g / s, b / s) ─▶ op(., s W)    x has no other reader
//   op(V, b) ─▶ [Relu] ─▶ op(., W)   alike: rows of V and b are divided (s > 0 passes Relu)
// The numbers of the float network stay up to rounding.
// Source: Xiao et al. 2023 (SmoothQuant); into a product: Nagel et al. 2019 (cross-layer scales).
#include <algorithm>
#include <cmath>
#include <map>

#include "quant/channels.h"
#include "quant/statistics/channel_magnitude.h"
#include "quant/steps/rounding_noise.h"
#include "quant/steps/shared_input.h"

namespace octet {

namespace {

/// The gain and the shift of a LayerNormalization of rank 1; empty: they are no such constants.
std::vector<ChannelConstant>
norm_constants(const Graph& graph, const Node& norm, int64_t channels) {
  const int64_t over = norm.attr_int("axis", -1);
  const TypeInfo& type = graph.value(norm.output(0)).type;
  if (over != -1 && !(type.has_rank() && over == type.rank() - 1)) return {};
  std::vector<ChannelConstant> out;
  for (const size_t input : {size_t{1}, size_t{2}}) {
    if (input == 2 && !norm.input(input).valid()) break;
    const Tensor* tensor = f32_constant(graph, norm, input);
    if (tensor == nullptr || tensor->shape() != Shape{channels}) return {};
    out.push_back({norm.id, input, 0});
  }
  return out;
}

/// The constants that make x what it is, each divided along its axis; empty: there are none.
std::vector<ChannelConstant>
makers_of(const Graph& graph, const LiveUses& uses, ValueId x, int64_t axis, int64_t channels) {
  const Node* node = graph.producer(x);
  if (node != nullptr && node->is("Relu")) {
    if (!uses.single_consumer(node->input(0)).valid()) return {};
    node = graph.producer(node->input(0));
  }
  if (node == nullptr || axis != channel_axis(*node)) return {};
  if (node->is("LayerNormalization")) return norm_constants(graph, *node, channels);
  return output_constants(graph, *node, channels);
}

/// What may be done to x: all that fitting and applying must agree on.
struct Place : SharedInput {
  std::vector<ChannelConstant> makers; ///< empty: a Mul before the consumers
};

/// Whether nothing but the products reads x.
bool read_by_them_alone(const LiveUses& uses, ValueId x, size_t products) {
  return uses.count(x) == static_cast<int>(products);
}

Result<Place>
place_of(const SteppedGraph& stepped, ValueId x, const std::vector<NodeId>& products) {
  Place out{OCTET_TRY(shared_input(stepped, x, products)), {}};
  if (read_by_them_alone(stepped.uses(), x, products.size()))
    out.makers = makers_of(stepped.graph(), stepped.uses(), x, out.axis, out.channels);
  return out;
}

/// The products that one value feeds, and what was seen of it.
struct Candidate {
  ValueId value;
  std::vector<NodeId> products;
  Place place;
  ChannelMagnitude seen;
};

/// The largest |w| of each channel of the input, over all consumers.
std::vector<double> weight_magnitudes(const Graph& graph, const Place& place) {
  std::vector<double> out(static_cast<size_t>(place.channels));
  for (const ChannelConstant& w : place.consumers) {
    const Tensor& tensor = *graph.constant(graph.node(w.node).input(w.input));
    const std::vector<float> values = tensor.to_floats().value();
    const Layout layout = layout_of(tensor, w.axis);
    for (size_t i = 0; i < values.size(); ++i) {
      const auto c = static_cast<size_t>(static_cast<int64_t>(i) / layout.inner % layout.channels);
      out[c] = std::max(out[c], static_cast<double>(std::fabs(values[i])));
    }
  }
  return out;
}

/// What rounding x / s and s W does to the outputs of the consumers: root mean square.
class PredictedError {
 public:
  PredictedError(const Graph& graph, const Candidate& candidate, const QuantizeOptions& options)
      : graph_(graph), candidate_(candidate), options_(options),
        squares_(candidate.seen.mean_squares()) {}

  double operator()(std::span<const double> s) const {
    int bits = 0;
    for (const ChannelConstant& w : candidate_.place.consumers)
      bits = std::max(bits, node_format(options_, graph_.node(w.node)).activation_bits);
    const double step = input_step(candidate_.seen.largest(), s, bits);
    double sum = 0, outputs = 0;
    for (const ChannelConstant& w : candidate_.place.consumers) {
      const std::vector<double> noise = rounding_noise(
          graph_, {.weights = w, .squares = squares_, .in = s, .out = {}, .input_step = step},
          node_format(options_, graph_.node(w.node)));
      for (const double n : noise)
        sum += n;
      outputs += static_cast<double>(noise.size());
    }
    return outputs == 0 ? 0 : std::sqrt(sum / outputs);
  }

 private:
  const Graph& graph_;
  const Candidate& candidate_;
  const QuantizeOptions& options_;
  std::vector<double> squares_;
};

/// s of one alpha; 1 where a channel is all zero on either side.
std::vector<double>
factors_for(const ChannelMagnitude& x, std::span<const double> w, double alpha) {
  constexpr double kSmallest = 1e-4, kLargest = 1e4;
  std::vector<double> out(w.size(), 1.0);
  for (size_t c = 0; c < out.size(); ++c) {
    const auto xc = static_cast<double>(x.largest()[c]);
    if (!(xc > 0) || !(w[c] > 0)) continue;
    const double s = std::pow(xc, alpha) / std::pow(w[c], 1 - alpha);
    out[c] = static_cast<double>(static_cast<float>(std::clamp(s, kSmallest, kLargest)));
  }
  return out;
}

/// A change that costs nothing when the model runs is made for less than one that costs a pass over
/// the value.
constexpr double kWorthFolded = 0.95, kWorthMul = 0.8;

std::optional<PlanStep>
best_step(const SteppedGraph& stepped, const Candidate& candidate, const QuantizeOptions& options) {
  const Graph& graph = stepped.graph();
  const std::vector<double> w = weight_magnitudes(graph, candidate.place);
  const PredictedError predicted(graph, candidate, options);
  const std::vector<double> ones(w.size(), 1.0);
  const double before = predicted(ones);
  double best = before, best_alpha = 0;
  std::vector<double> s;
  for (const double alpha : {0.2, 0.35, 0.5, 0.65, 0.8}) {
    const std::vector<double> tried = factors_for(candidate.seen, w, alpha);
    const double after = predicted(tried);
    if (!(after < best)) continue;
    best = after;
    best_alpha = alpha;
    s = tried;
  }
  const bool folded = !candidate.place.makers.empty();
  if (s.empty() || best > before * (folded ? kWorthFolded : kWorthMul)) return std::nullopt;
  Smooth step;
  step.value = graph.value(candidate.value).name;
  for (const ChannelConstant& f : candidate.place.consumers)
    step.consumers.push_back({graph.node(f.node).name, static_cast<int64_t>(f.input)});
  if (folded) step.into = graph.node(candidate.place.makers.front().node).name;
  const std::vector<float> numbers(s.begin(), s.end());
  step.s = Tensor::of<float>({candidate.place.channels}, std::span<const float>(numbers));
  step.alpha = best_alpha;
  PlanStep out;
  out.id = "smooth/" + step.value;
  out.why = fmt::format("predicted rounding error {:.0f} % of before; {}", 100 * best / before,
                        folded ? fmt::format("1 / s goes into {}", step.into)
                               : "1 / s is a Mul, since others read the value or nothing takes it");
  out.kind = std::move(step);
  out.before = before;
  out.after = best;
  return out;
}

Result<std::vector<Candidate>> candidates(const Fitting& f, const SteppedGraph& stepped) {
  const std::map<ValueId, std::vector<NodeId>> products = OCTET_TRY(products_by_input(f));
  std::vector<Candidate> out;
  for (const auto& [value, nodes] : products) {
    auto placed = place_of(stepped, value, nodes);
    if (!placed.ok() || placed->channels < 2) continue; // one channel: nothing to even out
    if (f.excluded("smooth/" + f.graph.value(value).name)) continue;
    const ChannelMagnitude seen(placed->axis, placed->channels);
    out.push_back({value, nodes, std::move(*placed), seen});
  }
  return out;
}

} // namespace

Status apply(SteppedGraph& stepped, const Smooth& step) {
  const ValueId x = OCTET_TRY(stepped.value(step.value));
  const std::vector<NodeId> products = OCTET_TRY(consumer_nodes(stepped, step.consumers));
  const Place at = OCTET_TRY(place_of(stepped, x, products));
  if (step.s.type() != DType::kFloat32 || step.s.shape() != Shape{at.channels})
    return error("s has the shape {}, \"{}\" has {} channels", to_string(step.s.shape()),
                 step.value, at.channels);
  std::vector<double> s = OCTET_TRY(step.s.to_doubles());
  std::vector<double> reciprocal;
  for (const double v : s) {
    if (!std::isfinite(v) || !(v > 0)) return error("s holds {}, which is not above 0", v);
    reciprocal.push_back(1 / v);
  }
  if (!step.into.empty()) {
    const NodeId into = OCTET_TRY(stepped.node(step.into));
    if (at.makers.empty() || at.makers.front().node != into)
      return error("1 / s cannot go into \"{}\": something else makes or reads \"{}\"; leave "
                   "\"into\" empty for a Mul",
                   step.into, step.value);
    for (const ChannelConstant& maker : at.makers)
      multiply(stepped, maker, reciprocal, "_smoothed");
  } else {
    const Graph& graph = stepped.graph();
    Shape shape = {at.channels};
    const Tensor* w = graph.constant(graph.node(at.consumers.front().node).input(1));
    if (at.axis == 1) shape.resize(static_cast<size_t>(w->rank() - 1), 1);
    const std::vector<float> factor(reciprocal.begin(), reciprocal.end());
    const ValueId y = stepped.multiplied(
        x, Tensor::of<float>(shape, std::span<const float>(factor)), step.value + "_smoothed");
    for (const ChannelConstant& consumer : at.consumers)
      stepped.set_input(consumer.node, 0, y);
  }
  for (const ChannelConstant& consumer : at.consumers)
    multiply(stepped, consumer, s, "_smoothed");
  return ok_status();
}

void members(Smooth& step, StepMembers& to) {
  to.text("value", step.value);
  to.inputs("consumers", step.consumers);
  to.text("into", step.into);
  to.vector("s", step.s);
  to.number("alpha", step.alpha);
}

Result<std::vector<PlanStep>> fit_smooth(const Fitting& f) {
  Graph graph = f.graph;
  const SteppedGraph stepped(graph);
  std::vector<Candidate> all = OCTET_TRY(candidates(f, stepped));
  OCTET_TRY(observe_each(f, all, &Candidate::seen));
  std::vector<PlanStep> out;
  for (const Candidate& candidate : all)
    if (auto step = best_step(stepped, candidate, f.options)) out.push_back(std::move(*step));
  return out;
}

} // namespace octet
