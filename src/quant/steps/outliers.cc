// SPDX-License-Identifier: Apache-2.0
//   x ─▶ op(., W)   =>   x ─▶ Mul(0 at channels, else 1) ─▶ op(., W) ──────────────▶ Add
//                        x ─▶ Gather(channels) ─▶ Mul(1 / s) ─▶ op(., s W[channels]) ─┘
// for MatMul and Gemm. Each product has the range of its own part of x. The numbers of the float
// network stay up to rounding.
// Source: Dettmers et al. 2022 (LLM.int8()), section 3.2, with channels that are chosen once, and
// with codes of 8 bits on both sides, since a channel that is divided by its largest number needs
// no more.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/format.h"
#include "graph/label.h"
#include "quant/channels.h"
#include "quant/place.h"
#include "quant/statistics/row_sample.h"
#include "quant/steps/rounding_noise.h"
#include "quant/steps/shared_input.h"

namespace octet {

namespace {

/// Of the channels at most so large a share is split off.
constexpr int64_t kSplitShare = 16;
/// Two passes over the value and a small product are added for less error than that.
constexpr double kWorthSplit = 0.8;

Result<SharedInput>
split_place(const SteppedGraph& stepped, ValueId x, const std::vector<NodeId>& products) {
  for (const NodeId id : products)
    if (stepped.graph().node(id).is("Conv"))
      return error("{} is a convolution; outliers of MatMul and Gemm are split off",
                   label(stepped.graph(), stepped.graph().node(id)));
  return shared_input(stepped, x, products);
}

/// A consumer's weights as [channels, outputs].
struct SplitWeights {
  std::vector<double> values;
  int64_t outputs = 0;

  static SplitWeights of(const Graph& graph, const ChannelConstant& at) {
    const Tensor& tensor = *graph.constant(graph.node(at.node).input(at.input));
    const std::vector<float> stored = tensor.to_floats().value();
    const int64_t channels = tensor.dim(at.axis);
    SplitWeights out{std::vector<double>(stored.size()), tensor.dim(1 - at.axis)};
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t n = 0; n < out.outputs; ++n)
        out.values[static_cast<size_t>(c * out.outputs + n)] = static_cast<double>(
            stored[static_cast<size_t>(at.axis == 0 ? c * out.outputs + n : n * channels + c)]);
    return out;
  }

  /// On the grid of codes of so many bits, symmetric.
  SplitWeights rounded(int bits, bool per_channel) const {
    std::vector<double> top(static_cast<size_t>(outputs));
    for (size_t i = 0; i < values.size(); ++i) {
      double& largest = top[i % top.size()];
      largest = std::max(largest, std::fabs(values[i]));
    }
    if (!per_channel && !top.empty())
      std::fill(top.begin(), top.end(), *std::max_element(top.begin(), top.end()));
    SplitWeights out = *this;
    for (size_t i = 0; i < values.size(); ++i) {
      const double step = top[i % top.size()] / (std::exp2(bits - 1) - 1);
      if (step > 0) out.values[i] = std::nearbyint(values[i] / step) * step;
    }
    return out;
  }
};

/// A value, the products that read it, and what was seen of it.
struct SplitCandidate {
  ValueId value;
  std::vector<NodeId> products;
  SharedInput place;
  RowSample sample;
};

/// Which channels, the largest first: as few as come close to what the most would do.
std::vector<int64_t> largest_channels(const SplitCandidate& candidate,
                                      std::span<const SplitWeights> weights) {
  const std::vector<float>& largest = candidate.sample.seen().largest();
  const auto channels = static_cast<size_t>(candidate.place.channels);
  std::vector<double> power(channels); ///< of the weights that a channel is multiplied with
  for (const SplitWeights& w : weights)
    for (size_t i = 0; i < w.values.size(); ++i)
      power[i / static_cast<size_t>(w.outputs)] += w.values[i] * w.values[i];
  std::vector<int64_t> order(channels);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return largest[static_cast<size_t>(a)] > largest[static_cast<size_t>(b)];
  });
  // Rounding noise, in units of the step of a range of 1.
  const auto most = static_cast<size_t>(candidate.place.channels / kSplitShare);
  double rest = std::accumulate(power.begin(), power.end(), 0.0), split = 0;
  std::vector<double> noise;
  for (size_t count = 0; count <= most; ++count) {
    const auto c = static_cast<size_t>(order[count]);
    const auto top = static_cast<double>(largest[c]);
    noise.push_back(top * top * rest + split);
    rest -= power[c];
    split += top * top * power[c];
  }
  constexpr double kClose = 1.25;
  const double least = *std::min_element(noise.begin(), noise.end());
  if (least > kWorthSplit * kWorthSplit * noise.front()) return {};
  size_t count = 1;
  while (count < most && noise[count] > kClose * least)
    ++count;
  order.resize(count);
  return order;
}

/// Outputs of the products of rows, less what they should be.
class SplitError {
 public:
  SplitError(const SplitCandidate& candidate, int activation_bits)
      : candidate_(candidate), bits_(activation_bits) {}

  /// [rows, columns] of those channels, divided by `by` where there is one, on the grid of codes
  /// that hold the largest of them.
  std::vector<double> input(std::span<const int64_t> channels, std::span<const double> by) const {
    const std::vector<float>& largest = candidate_.sample.seen().largest();
    std::vector<float> tops;
    for (const int64_t c : channels)
      tops.push_back(largest[static_cast<size_t>(c)]);
    const double step = input_step(tops, by, bits_);
    std::vector<double> out;
    const std::vector<float>& rows = candidate_.sample.rows();
    const auto columns = static_cast<size_t>(candidate_.sample.columns());
    for (size_t first = 0; first < rows.size(); first += columns)
      for (size_t i = 0; i < channels.size(); ++i) {
        const auto x = static_cast<double>(rows[first + static_cast<size_t>(channels[i])]) /
                       (by.empty() ? 1 : by[i]);
        out.push_back(step > 0 ? std::nearbyint(x / step) * step : x);
      }
    return out;
  }

  /// out[row][n] += sign * sum over k of x[row][k] * w[channels[k]][n] * by[k].
  static void
  add(std::span<const double> x, const SplitWeights& w, double sign, std::vector<double>& out) {
    const auto outputs = static_cast<size_t>(w.outputs);
    const size_t depth = w.values.size() / outputs;
    for (size_t row = 0; row * outputs < out.size(); ++row)
      for (size_t k = 0; k < depth; ++k) {
        const double factor = sign * x[row * depth + k];
        if (factor == 0) continue;
        const double* from = w.values.data() + k * outputs;
        double* to = out.data() + row * outputs;
        for (size_t n = 0; n < outputs; ++n)
          to[n] += factor * from[n];
      }
  }

 private:
  const SplitCandidate& candidate_;
  int bits_;
};

int weight_bits_of(const NodeFormat& format) {
  return format.weights ? bits(format.weights->type) : format.weight_bits;
}

double sum_of_squares(const std::vector<double>& values) {
  double out = 0;
  for (const double v : values)
    out += v * v;
  return out;
}

/// Rows of the weights of those channels, times s.
SplitWeights
taken(const SplitWeights& w, std::span<const int64_t> channels, std::span<const double> s) {
  SplitWeights out{{}, w.outputs};
  for (size_t i = 0; i < channels.size(); ++i)
    for (int64_t n = 0; n < w.outputs; ++n)
      out.values.push_back(w.values[static_cast<size_t>(channels[i] * w.outputs + n)] * s[i]);
  return out;
}

std::optional<PlanStep>
split_step(const Graph& graph, const SplitCandidate& candidate, const QuantizeOptions& options) {
  std::vector<SplitWeights> weights;
  for (const ChannelConstant& at : candidate.place.consumers)
    weights.push_back(SplitWeights::of(graph, at));
  std::vector<int64_t> channels = largest_channels(candidate, weights);
  if (channels.empty()) return std::nullopt;
  std::sort(channels.begin(), channels.end());
  std::vector<double> s;
  s.reserve(channels.size());
  for (const int64_t c : channels)
    s.push_back(static_cast<double>(candidate.sample.seen().largest()[static_cast<size_t>(c)]));
  if (std::any_of(s.begin(), s.end(), [](double v) { return !std::isnormal(v); }))
    return std::nullopt;

  std::vector<int64_t> all(static_cast<size_t>(candidate.place.channels)), others;
  std::iota(all.begin(), all.end(), 0);
  std::set_difference(all.begin(), all.end(), channels.begin(), channels.end(),
                      std::back_inserter(others));
  const std::vector<float>& rows = candidate.sample.rows();
  const std::vector<double> exact(rows.begin(), rows.end());
  const std::vector<double> ones(others.size(), 1.0);
  double before = 0, after = 0, outputs = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    const SplitWeights& w = weights[i];
    const NodeFormat format = node_format(options, graph.node(candidate.place.consumers[i].node));
    const auto rounded = [&](const SplitWeights& of) {
      return format.float_weights() ? of : of.rounded(weight_bits_of(format), format.per_channel);
    };
    const SplitError error(candidate, format.activation_bits);
    const SplitWeights whole = rounded(w);
    std::vector<double> wanted(rows.size() / all.size() * static_cast<size_t>(w.outputs));
    SplitError::add(exact, w, -1, wanted);
    std::vector<double> one = wanted, two = wanted;
    SplitError::add(error.input(all, {}), whole, 1, one);
    SplitError::add(error.input(others, {}), taken(whole, others, ones), 1, two);
    SplitError::add(error.input(channels, s), rounded(taken(w, channels, s)), 1, two);
    before += sum_of_squares(one);
    after += sum_of_squares(two);
    outputs += static_cast<double>(one.size());
  }
  if (outputs == 0 || !(after < kWorthSplit * kWorthSplit * before)) return std::nullopt;

  Outliers step;
  step.value = graph.value(candidate.value).name;
  for (const ChannelConstant& at : candidate.place.consumers)
    step.consumers.push_back({graph.node(at.node).name, static_cast<int64_t>(at.input)});
  step.channels = channels;
  const std::vector<float> numbers(s.begin(), s.end());
  step.s =
      Tensor::of<float>({static_cast<int64_t>(numbers.size())}, std::span<const float>(numbers));
  PlanStep out;
  out.id = "outliers/" + step.value;
  out.before = std::sqrt(before / outputs);
  out.after = std::sqrt(after / outputs);
  out.why = fmt::format("{} of {} channels by themselves: {:.0f} % of the error before",
                        channels.size(), candidate.place.channels, 100 * out.after / out.before);
  out.kind = std::move(step);
  return out;
}

Result<std::vector<SplitCandidate>> split_candidates(const Fitting& f,
                                                     const SteppedGraph& stepped) {
  std::vector<SplitCandidate> out;
  for (const auto& [value, nodes] : OCTET_TRY(products_by_input(f))) {
    auto placed = split_place(stepped, value, nodes);
    // Wider codes hold outliers by themselves.
    const bool bytes = std::all_of(nodes.begin(), nodes.end(), [&](NodeId id) {
      return node_format(f.options, f.graph.node(id)).byte_activations();
    });
    if (!placed.ok() || !bytes || placed->channels < kSplitShare) continue;
    if (f.excluded("outliers/" + f.graph.value(value).name)) continue;
    const RowSample sample(placed->channels);
    out.push_back({value, nodes, std::move(*placed), sample});
  }
  return out;
}

Status check_channels(const Outliers& step, int64_t channels) {
  const auto count = static_cast<int64_t>(step.channels.size());
  if (count == 0 || count >= channels)
    return error("{} channels of \"{}\", which has {}", count, step.value, channels);
  int64_t last = -1;
  for (const int64_t c : step.channels) {
    if (c <= last || c >= channels)
      return error("channels hold {} behind {}: they ascend, and \"{}\" has {}", c, last,
                   step.value, channels);
    last = c;
  }
  if (step.s.type() != DType::kFloat32 || step.s.shape() != Shape{count})
    return error("s has the shape {}, there are {} channels", to_string(step.s.shape()), count);
  return ok_status();
}

/// The weights of the channels times s, in the form that they are stored in.
Tensor split_weights(const Tensor& w,
                     int64_t axis,
                     std::span<const int64_t> channels,
                     std::span<const double> s) {
  const std::vector<float> stored = w.to_floats().value();
  const int64_t outputs = w.dim(1 - axis), all = w.dim(axis);
  const auto count = static_cast<int64_t>(channels.size());
  std::vector<float> out(static_cast<size_t>(count * outputs));
  for (int64_t i = 0; i < count; ++i)
    for (int64_t n = 0; n < outputs; ++n) {
      const int64_t c = channels[static_cast<size_t>(i)];
      const float from = stored[static_cast<size_t>(axis == 0 ? c * outputs + n : n * all + c)];
      out[static_cast<size_t>(axis == 0 ? i * outputs + n : n * count + i)] =
          static_cast<float>(static_cast<double>(from) * s[static_cast<size_t>(i)]);
    }
  const Shape shape = axis == 0 ? Shape{count, outputs} : Shape{outputs, count};
  return Tensor::of<float>(shape, std::span<const float>(out));
}

} // namespace

Status apply(SteppedGraph& stepped, const Outliers& step) {
  const ValueId x = OCTET_TRY(stepped.value(step.value));
  const std::vector<NodeId> products = OCTET_TRY(consumer_nodes(stepped, step.consumers));
  const SharedInput at = OCTET_TRY(split_place(stepped, x, products));
  OCTET_TRY(check_channels(step, at.channels));
  const std::vector<double> s = OCTET_TRY(step.s.to_doubles());
  std::vector<float> reciprocal;
  for (const double v : s) {
    const auto one = static_cast<float>(1 / v);
    if (!(v > 0) || !std::isnormal(one)) return error("s holds {}, which is no scale", v);
    reciprocal.push_back(one);
  }
  std::vector<float> keep(static_cast<size_t>(at.channels), 1.0F);
  for (const int64_t c : step.channels)
    keep[static_cast<size_t>(c)] = 0;
  const auto count = static_cast<int64_t>(step.channels.size());
  const ValueId rest = stepped.multiplied(
      x, Tensor::of<float>({at.channels}, std::span<const float>(keep)), step.value + "_rest");
  Attributes last;
  last["axis"].value = int64_t{-1};
  const ValueId channels =
      stepped.constant(int_list(step.channels), step.value + "_outlier_channels");
  const ValueId gathered =
      stepped.emit("Gather", {x, channels}, std::move(last), step.value + "_outliers");
  const ValueId outliers =
      stepped.multiplied(gathered, Tensor::of<float>({count}, std::span<const float>(reciprocal)),
                         step.value + "_outliers_scaled");
  for (const ChannelConstant& consumer : at.consumers) {
    const Node node = stepped.graph().node(consumer.node); // a copy: nodes are added
    const Tensor& w = *stepped.graph().constant(node.input(1));
    const ValueId split = stepped.constant(split_weights(w, consumer.axis, step.channels, s),
                                           node.name + "_outlier_weight");
    std::vector<ValueId> inputs = node.inputs;
    inputs[0] = rest;
    const ValueId main =
        stepped.emit(node.op_type.c_str(), inputs, node.attributes, node.name + "_rest");
    const ValueId beside = stepped.emit(node.op_type.c_str(), {outliers, split}, node.attributes,
                                        node.name + "_outliers");
    const ValueId sum = stepped.emit("Add", {main, beside}, {}, node.name + "_sum");
    stepped.replace(node.id, sum, stepped.graph().producer(main)->id);
  }
  return ok_status();
}

void members(Outliers& step, StepMembers& to) {
  to.text("value", step.value);
  to.inputs("consumers", step.consumers);
  to.indices("channels", step.channels);
  to.vector("s", step.s);
}

Result<std::vector<PlanStep>> fit_outliers(const Fitting& f) {
  Graph graph = f.graph;
  const SteppedGraph stepped(graph);
  std::vector<SplitCandidate> all = OCTET_TRY(split_candidates(f, stepped));
  OCTET_TRY(observe_each(f, all, &SplitCandidate::sample));
  std::vector<PlanStep> out;
  for (const SplitCandidate& candidate : all)
    if (auto step = split_step(f.graph, candidate, f.options)) out.push_back(std::move(*step));
  return out;
}

} // namespace octet
