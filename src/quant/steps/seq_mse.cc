// SPDX-License-Identifier: Apache-2.0
// The scales of weights, layer by layer in the order of the network: of 15 shares of the planned
// range each output channel (or block) takes the one with which the layer's output errs least,
// given inputs from the network whose earlier layers have their codes and scales already. One pass
// over the data for each value that layers read.
// Source: AIMET's sequential MSE (Qualcomm), with the error d^T G d over the inputs of the quantized
// network, where G is their Gram matrix and d what rounding adds to the weights.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>

#include "graph/label.h"
#include "quant/apply.h"
#include "quant/calibrate.h"
#include "quant/gram/gram.h"
#include "quant/gram/panels.h"
#include "quant/scheme.h"
#include "quant/steps/rounded_layer.h"

namespace octet {

namespace {

constexpr int kShares = 20, kLeastShare = 6; ///< 6 / 20 to 20 / 20 of the planned range
constexpr float kHalfStep = 0.5F;

double magnitude_of(const Range& range) {
  return std::max(std::fabs(range.lo), std::fabs(range.hi));
}
float largest_of(const Range& range) {
  return static_cast<float>(magnitude_of(range));
}

/// The planned range in proportion, so that its larger side ends at `largest`; as planned where that
/// is what it has. Grids that use their lowest code ask both sides for a step.
Range share_of(const Range& planned, float largest) {
  const double all = magnitude_of(planned), wanted = static_cast<double>(largest);
  if (largest_of(planned) == largest) return planned;
  if (!(all > 0)) return {-wanted, wanted};
  const auto end = [&](double side) {
    return std::fabs(side) == all ? std::copysign(wanted, side) : side * (wanted / all);
  };
  return {end(planned.lo), end(planned.hi)};
}

/// Layers that read one value alike.
struct SequentialPart {
  std::vector<RoundedLayer> layers;
};

/// One output of a layer, whose parts take their scale one after the other.
class OutputScales {
 public:
  OutputScales(const RoundingProblem& problem, std::span<const double> gram, int64_t output)
      : p_(problem), gram_(gram), output_(output), d_(place(p_.columns)), slope_(d_.size()) {
    for (int64_t k = 0; k < p_.columns; ++k)
      d_[place(k)] = difference(k, p_.step(output_, k));
    for (int64_t r = 0; r < p_.columns; ++r)
      for (int64_t c = 0; c < p_.columns; ++c)
        slope_[place(r)] += gram_[place(r * p_.columns + c)] * d_[place(c)];
  }

  /// Which of the steps the columns of a part take; the last is the one that they have.
  size_t choose(std::span<const int64_t> columns, std::span<const double> steps) {
    size_t best = steps.size() - 1;
    double least = 0;
    std::vector<double> by(columns.size()), best_by;
    for (size_t s = 0; s + 1 < steps.size(); ++s) {
      for (size_t i = 0; i < columns.size(); ++i)
        by[i] = difference(columns[i], steps[s]) - d_[place(columns[i])];
      const double more = change(columns, by);
      if (!(more < least)) continue;
      least = more;
      best = s;
      best_by = by;
    }
    if (!best_by.empty()) move(columns, best_by);
    return best;
  }

 private:
  double difference(int64_t k, double step) const {
    const double weight = p_.weights[place(output_ * p_.columns + k)];
    return p_.grid.nearest(weight / step) * step - weight;
  }
  double change(std::span<const int64_t> columns, std::span<const double> by) const {
    double out = 0;
    for (size_t i = 0; i < columns.size(); ++i) {
      const double* row = gram_.data() + columns[i] * p_.columns;
      double product = 2 * slope_[place(columns[i])];
      for (size_t j = 0; j < columns.size(); ++j)
        product += row[columns[j]] * by[j];
      out += by[i] * product;
    }
    return out;
  }
  void move(std::span<const int64_t> columns, std::span<const double> by) {
    for (size_t i = 0; i < columns.size(); ++i) {
      d_[place(columns[i])] += by[i];
      const double* row = gram_.data() + columns[i] * p_.columns;
      for (int64_t c = 0; c < p_.columns; ++c)
        slope_[place(c)] += row[c] * by[i];
    }
  }

  const RoundingProblem& p_;
  std::span<const double> gram_;
  int64_t output_;
  std::vector<double> d_, slope_; ///< G d
};

class SequentialFitter {
 public:
  explicit SequentialFitter(const Fitting& f) : f_(f), plan_(f.plan), workers_(f.options.threads) {}

  Result<std::vector<PlanStep>> run() {
    const size_t first = plan_.steps.size();
    OCTET_TRY(find());
    for (const SequentialPart& part : parts_)
      OCTET_TRY(fit(part));
    return std::vector<PlanStep>(plan_.steps.begin() + static_cast<std::ptrdiff_t>(first),
                                 plan_.steps.end());
  }

 private:
  const Node& node_of(const RoundedLayer& layer) const { return f_.graph.node(layer.node); }
  const TensorPlan& tensor_of(const RoundedLayer& layer) const {
    return *f_.plan.tensor(f_.graph.value(node_of(layer).input(1)).name);
  }

  Status find() {
    std::map<ValueId, size_t> products; ///< parts, by what they read
    for (RoundedLayer& layer : OCTET_TRY(rounded_layers(f_))) {
      const Scheme& scheme = tensor_of(layer).scheme;
      const bool even = is_integer(scheme.type) && scheme.symmetric && !is_coded(scheme.scale);
      if (!even || f_.excluded("seq-mse/" + node_of(layer).name)) continue;
      if (!layer.rows.is_convolution()) {
        const auto [at, is_new] = products.try_emplace(node_of(layer).input(0), parts_.size());
        if (!is_new) {
          parts_[at->second].layers.push_back(std::move(layer));
          continue;
        }
      }
      parts_.emplace_back().layers.push_back(std::move(layer));
    }
    return ok_status();
  }
  static bool is_coded(DType scale) { return scale != DType::kFloat32; }

  Status fit(const SequentialPart& part) {
    Graph quantized = f_.graph;
    OCTET_TRY(apply_behind_ranges(quantized, plan_, f_.placement, WeightStorage::kTarget));
    const Node& reader = node_of(part.layers.front());
    const auto id = quantized.find_node(reader.name);
    if (!id) return error("the quantized graph has no {}", label(f_.graph, reader));
    Gram gram(part.layers.front().rows, workers_);
    const StatisticRequest request{quantized.node(*id).input(0), &gram};
    OCTET_TRY(
        collect(quantized, std::span(&request, 1), OCTET_TRY(f_.open()), f_.options, f_.samples));
    for (const RoundedLayer& layer : part.layers)
      if (auto step = OCTET_TRY(choose(layer, gram))) plan_.steps.push_back(std::move(*step));
    return ok_status();
  }

  /// Magnitudes from the least share to all of the planned range, which is the last. Of fewer than
  /// 8 bits also the half step that min-max may have left out.
  static std::vector<float> shares_of(const Scheme& scheme, const Range& planned) {
    const float all = largest_of(planned);
    std::vector<float> out;
    for (int share = kLeastShare; share < kShares; ++share)
      out.push_back(all * static_cast<float>(share) / kShares);
    if (uses_lowest_code(scheme))
      out.push_back(all * (1 + kHalfStep / static_cast<float>(reach(scheme).highest)));
    out.push_back(all);
    return out;
  }

  Result<std::optional<PlanStep>> choose(const RoundedLayer& layer, const Gram& gram) {
    const std::vector<double> weights =
        OCTET_TRY(f_.graph.constant(node_of(layer).input(1))->to_doubles());
    const TensorPlan& tensor = tensor_of(layer);
    std::vector<float> largest;
    for (const Range& range : tensor.ranges)
      largest.push_back(largest_of(range));
    if (largest.size() == 1 && layer.form.outputs * layer.form.parts() > 1)
      choose_one(layer, gram, weights, largest);
    else
      choose_each(layer, gram, weights, largest);
    const double before = error_with(layer, gram, weights, layer.scales, Gram::Part::kJudged);
    const double after =
        error_with(layer, gram, weights, scales_of(tensor, largest), Gram::Part::kJudged);
    constexpr double kWorth = 0.99 * 0.99; // of squares: 1 % of the error
    if (!(after <= kWorth * before)) return std::optional<PlanStep>();
    const double outputs = static_cast<double>(gram.row_count(Gram::Part::kJudged)) *
                           static_cast<double>(layer.form.outputs);
    PlanStep out;
    out.id = "seq-mse/" + node_of(layer).name;
    int64_t others = 0;
    for (size_t i = 0; i < largest.size(); ++i)
      others += largest[i] != largest_of(tensor.ranges[i]) ? 1 : 0;
    out.why = fmt::format("{} of {} scales are others than planned", others, largest.size());
    out.kind = SequentialMse{
        {node_of(layer).name, 1},
        Tensor::of<float>({static_cast<int64_t>(largest.size())}, std::span<const float>(largest))};
    for (const PlanStep& step : plan_.steps)
      out.needs.push_back(step.id);
    out.before = std::sqrt(std::max(before, 0.0) / std::max(outputs, 1.0));
    out.after = std::sqrt(std::max(after, 0.0) / std::max(outputs, 1.0));
    return std::optional(std::move(out));
  }

  static std::vector<float> scales_of(const TensorPlan& tensor, std::span<const float> largest) {
    std::vector<Range> ranges;
    for (size_t i = 0; i < largest.size(); ++i)
      ranges.push_back(share_of(tensor.ranges[i], largest[i]));
    std::vector<float> out;
    for (const QuantParameters& p : parameters_for(tensor.scheme, ranges))
      out.push_back(p.scale);
    return out;
  }

  /// Of nearest codes, squares summed over the rows of a part.
  double error_with(const RoundedLayer& layer,
                    const Gram& gram,
                    std::span<const double> weights,
                    std::vector<float> scales,
                    Gram::Part part) {
    RoundedLayer with = layer;
    with.scales = std::move(scales);
    double out = 0;
    for (int64_t g = 0; g < layer.form.groups; ++g) {
      const RoundingProblem problem = with.problem(weights, g);
      out += output_error(problem, nearest_codes(problem), gram.matrix(part, g), workers_);
    }
    return out;
  }

  /// One scale of the whole weight.
  void choose_one(const RoundedLayer& layer,
                  const Gram& gram,
                  std::span<const double> weights,
                  std::vector<float>& largest) {
    const TensorPlan& tensor = tensor_of(layer);
    double least = std::numeric_limits<double>::infinity();
    for (const float share : shares_of(tensor.scheme, tensor.ranges.front())) {
      const float one[] = {share};
      const double tried =
          error_with(layer, gram, weights, scales_of(tensor, one), Gram::Part::kFitted);
      if (tried > least) continue;
      least = tried;
      largest = {share};
    }
  }

  void choose_each(const RoundedLayer& layer,
                   const Gram& gram,
                   std::span<const double> weights,
                   std::vector<float>& largest) {
    const TensorPlan& tensor = tensor_of(layer);
    const WeightForm& form = layer.form;
    std::vector<std::vector<int64_t>> columns(place(form.parts()));
    for (int64_t k = 0; k < form.columns; ++k)
      columns[place(form.part(k))].push_back(k);
    for (int64_t g = 0; g < form.groups; ++g) {
      const RoundingProblem problem = layer.problem(weights, g);
      const std::vector<double> matrix = gram.matrix(Gram::Part::kFitted, g);
      const double work = static_cast<double>(kShares) * static_cast<double>(form.columns) *
                          static_cast<double>(form.columns);
      workers_.run(problem.outputs, grain_for(work), [&](int64_t begin, int64_t end) {
        for (int64_t m = begin; m < end; ++m) {
          OutputScales output(problem, matrix, m);
          for (int64_t part = 0; part < form.parts(); ++part) {
            const auto at = place(form.scale(g * problem.outputs + m, part));
            if (!std::isnormal(largest[at])) continue; // all zero
            const std::vector<float> shares = shares_of(tensor.scheme, tensor.ranges[at]);
            std::vector<double> steps;
            steps.reserve(shares.size());
            for (const float share : shares)
              steps.push_back(static_cast<double>(
                  parameters_for(tensor.scheme, share_of(tensor.ranges[at], share)).scale));
            largest[at] = shares[output.choose(columns[place(part)], steps)];
          }
        }
      });
    }
  }

  const Fitting& f_;
  QuantizationPlan plan_;
  ThreadPool workers_;
  std::vector<SequentialPart> parts_;
};

Status check_magnitudes(const SequentialMse& step) {
  if (step.largest.type() != DType::kFloat32 || step.largest.rank() != 1)
    return error("the largest magnitudes are no f32 vector but {}{}", name(step.largest.type()),
                 to_string(step.largest.shape()));
  for (const float l : OCTET_TRY(step.largest.to_floats()))
    if (!std::isfinite(l) || l < 0) return error("the largest magnitudes hold {}", l);
  return ok_status();
}

} // namespace

Status apply(SteppedGraph& stepped, const SequentialMse& step) {
  const NodeId id = OCTET_TRY(stepped.node(step.weight.node));
  const Node& node = stepped.graph().node(id);
  if (step.weight.input != 1 || stepped.graph().constant(node.input(1)) == nullptr)
    return error("{} has no weights at input {}", label(stepped.graph(), node), step.weight.input);
  return check_magnitudes(step);
}

Status
choose_ranges(const Graph& graph, const SequentialMse& step, std::vector<TensorPlan>& plans) {
  const auto node = graph.find_node(step.weight.node);
  if (!node || !graph.node(*node).input(1).valid()) return ok_status(); // apply says what is wrong
  OCTET_TRY(check_magnitudes(step));
  const std::string& value = graph.value(graph.node(*node).input(1)).name;
  const auto tensor = std::find_if(plans.begin(), plans.end(),
                                   [&](const TensorPlan& t) { return t.value == value; });
  if (tensor == plans.end()) return ok_status(); // it stays float
  if (step.largest.count() != static_cast<int64_t>(tensor->ranges.size()))
    return error("it has {} scales, the plan has {} of \"{}\"", step.largest.count(),
                 tensor->ranges.size(), value);
  for (size_t i = 0; i < tensor->ranges.size(); ++i)
    tensor->ranges[i] =
        share_of(tensor->ranges[i], static_cast<float>(step.largest.at(static_cast<int64_t>(i))));
  tensor->algorithm = "seq-mse";
  return ok_status();
}

void members(SequentialMse& step, StepMembers& to) {
  to.input("weight", step.weight);
  to.vector("largest", step.largest);
}

Result<std::vector<PlanStep>> fit_seq_mse(const Fitting& fitting) {
  return SequentialFitter(fitting).run();
}

} // namespace octet
