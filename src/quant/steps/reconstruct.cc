// SPDX-License-Identifier: Apache-2.0
// Block after block: which way all weights of a block go is learned for the block's outputs, given
// what the quantized network before it makes. Gradients are those of whoever trains
// (QuantizeOptions::learn_rounding); here blocks are found, examples collected and results judged.
// Source: Li et al. 2021 (BRECQ), with the regularizer of Nagel et al. 2020 (AdaRound). Inputs of which
// half are the float network's (Wei et al. 2022, QDrop) gained nothing for twice the time.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "graph/label.h"
#include "quant/apply.h"
#include "quant/calibrate.h"
#include "quant/channels.h"
#include "quant/statistics/kept_values.h"
#include "quant/steps/network_blocks.h"
#include "quant/steps/round_weights.h"
#include "quant/steps/rounded_layer.h"

namespace octet {

namespace {

constexpr size_t kFewestProducts = 2;
/// Inputs and outputs of a block that are kept at a time.
constexpr int64_t kBytesOfBlock = int64_t{512} << 20;
constexpr int64_t kExamplesOfIteration = 32;

/// As many batches of a source.
CalibrationSource first_batches(CalibrationSource source, int64_t count) {
  const auto left = std::make_shared<int64_t>(count);
  return [source = std::move(source), left]() -> Result<std::optional<std::vector<Tensor>>> {
    if (--*left < 0) return std::optional<std::vector<Tensor>>();
    return source();
  };
}

Result<Tensor> rows_of(const Tensor& values, std::span<const int64_t> rows) {
  if (values.empty()) return Tensor();
  Shape shape = values.shape();
  const auto each = values.bytes().size() / static_cast<size_t>(std::max<int64_t>(shape[0], 1));
  shape[0] = static_cast<int64_t>(rows.size());
  Tensor out = OCTET_TRY(Tensor::zeros(values.type(), std::move(shape)));
  std::span<std::byte> bytes = out.mutable_bytes();
  for (size_t r = 0; r < rows.size(); ++r)
    std::memcpy(bytes.data() + r * each,
                values.bytes().data() + static_cast<size_t>(rows[r]) * each, each);
  return out;
}

/// Of an output whose mask its shape begins with: 1 and 0, with one element for each of the mask.
Tensor counts_of(const Tensor& values, const Tensor& mask) {
  if (mask.empty()) return {};
  std::vector<float> keep(static_cast<size_t>(mask.count()));
  for (int64_t i = 0; i < mask.count(); ++i)
    keep[static_cast<size_t>(i)] = mask.at(i) != 0 ? 1.0F : 0.0F;
  Shape shape = mask.shape();
  shape.resize(values.shape().size(), 1);
  return Tensor::of<float>(shape, std::span<const float>(keep));
}

/// The numbers beside a layer's weights, in their order.
struct WeightSides {
  std::vector<double> below, above, nearest; ///< of the grid
  std::vector<double> step;
};

WeightSides sides_of(const RoundedLayer& layer, std::span<const double> weights) {
  WeightSides out;
  for (std::vector<double>* all : {&out.below, &out.above, &out.nearest, &out.step})
    all->resize(weights.size());
  for (int64_t g = 0; g < layer.form.groups; ++g) {
    const RoundingProblem p = layer.problem(weights, g);
    for (int64_t m = 0; m < p.outputs; ++m)
      for (int64_t k = 0; k < p.columns; ++k) {
        const auto e = static_cast<size_t>(layer.form.element(g * p.outputs + m, k));
        out.step[e] = p.step(m, k);
        const double scaled = weights[e] / out.step[e];
        const CodeGrid::Sides sides = p.grid.sides(scaled);
        out.below[e] = sides.below;
        out.above[e] = sides.above;
        out.nearest[e] = p.grid.nearest(scaled);
      }
  }
  return out;
}

class ReconstructFitter {
 public:
  explicit ReconstructFitter(const Fitting& f) : f_(f), plan_(f.plan) {}

  Result<std::vector<PlanStep>> run() {
    if (!f_.options.learn_rounding)
      return error(ErrorCode::kUnsupported,
                   "it learns through gradients, and nothing that trains was handed in "
                   "(QuantizeOptions::learn_rounding); take adaround or gptq");
    const size_t first = plan_.steps.size();
    std::vector<NodeId> products;
    for (RoundedLayer& layer : OCTET_TRY(rounded_layers(f_))) {
      const std::string& name = f_.graph.node(layer.node).name;
      const bool dynamic = f_.plan.node(name)->rule == Placed::kDynamic;
      if (dynamic || has_codes(f_.plan, name) || f_.excluded(id_of(name))) continue;
      products.push_back(layer.node);
      layers_.push_back(std::move(layer));
    }
    if (products.empty()) return std::vector<PlanStep>();
    OCTET_TRY(fit_each(OCTET_TRY(network_blocks(f_.graph, products, kFewestProducts))));
    return std::vector<PlanStep>(plan_.steps.begin() + static_cast<std::ptrdiff_t>(first),
                                 plan_.steps.end());
  }

 private:
  static std::string id_of(const std::string& node) { return "reconstruct/" + node; }

  const RoundedLayer& layer_of(NodeId product) const {
    return *std::find_if(layers_.begin(), layers_.end(),
                         [&](const RoundedLayer& layer) { return layer.node == product; });
  }

  /// The same value in the quantized graph: before it is quantized.
  Result<std::vector<ValueId>> in(const Graph& quantized, std::span<const ValueId> values) const {
    std::vector<ValueId> out;
    for (const ValueId v : values) {
      const Node* maker = f_.graph.producer(v);
      if (maker == nullptr) {
        const auto found = quantized.find_value(f_.graph.value(v).name);
        if (!found) return error("the quantized graph has no \"{}\"", f_.graph.value(v).name);
        out.push_back(*found);
        continue;
      }
      const auto id = quantized.find_node(maker->name);
      if (!id) return error("the quantized graph has no {}", label(f_.graph, *maker));
      const auto at = std::find(maker->outputs.begin(), maker->outputs.end(), v);
      out.push_back(quantized.node(*id).output(static_cast<size_t>(at - maker->outputs.begin())));
    }
    return out;
  }

  Status fit_each(std::span<const NetworkBlock> blocks) {
    for (const NetworkBlock& block : blocks)
      OCTET_TRY_WITH(fit(block), fmt::format("the block that ends with \"{}\"",
                                             f_.graph.value(block.outputs.front()).name));
    return ok_status();
  }

  /// Whether there are as many numbers to come near as weights: fewer are met by codes that fit
  /// nothing else, and those between its products are better to go by.
  static bool tells_weights_apart(const RoundingRequest& request) {
    int64_t weights = 0, wanted = 0;
    for (const RoundingRequest::Weight& weight : request.weights)
      weights += weight.gap.count();
    for (const RoundingExamples& examples : request.fitted)
      for (const Tensor& output : examples.wanted)
        wanted += output.count();
    return wanted >= weights;
  }

  Status fit(const NetworkBlock& block) {
    Graph quantized = f_.graph;
    OCTET_TRY(apply_behind_ranges(quantized, plan_, f_.placement, WeightStorage::kFloat));
    const std::vector<ValueId> inputs = OCTET_TRY(in(quantized, block.inputs)),
                               outputs = OCTET_TRY(in(quantized, block.outputs));
    RoundingRequest request;
    std::vector<WeightSides> sides;
    Graph open = quantized;
    for (const NodeId product : block.products)
      sides.push_back(OCTET_TRY(release_weight(open, layer_of(product), request)));
    OCTET_TRY(collect_examples(block, quantized, inputs, request));
    if (block.products.size() > 1 && !tells_weights_apart(request)) {
      const auto parts = OCTET_TRY(network_blocks(f_.graph, block.products, 1));
      if (parts.size() > 1) {
        request = {}; // or its examples stay beside those of the parts
        return fit_each(parts);
      }
    }
    request.part = OCTET_TRY(part_between(open, inputs, outputs));
    request.iterations = iterations(block, request);
    request.batch = kExamplesOfIteration;
    request.progress = [&](int64_t) {
      return !f_.options.progress || f_.options.progress(f_.samples, f_.samples);
    };
    const LearnedRounding learned = OCTET_TRY(f_.options.learn_rounding(request));
    constexpr double kWorth = 0.99 * 0.99; // of squares: 1 % of the error
    if (!(learned.learned <= kWorth * learned.nearest)) return ok_status();
    for (size_t i = 0; i < block.products.size(); ++i)
      add_step(layer_of(block.products[i]), sides[i], learned.up[i], learned, block);
    return ok_status();
  }

  /// The product reads its weight as a constant of its own, which the request names.
  Result<WeightSides>
  release_weight(Graph& open, const RoundedLayer& layer, RoundingRequest& request) const {
    const Node& node = f_.graph.node(layer.node);
    const Tensor& weight = *f_.graph.constant(node.input(1));
    const WeightSides sides = sides_of(layer, OCTET_TRY(weight.to_doubles()));
    const auto id = open.find_node(node.name);
    if (!id) return error("the quantized graph has no {}", label(f_.graph, node));
    const std::string name = open.unique_name(f_.graph.value(node.input(1)).name + "_learned");
    open.set_node_input(*id, 1, open.add_constant(name, weight));
    std::vector<float> below, gap;
    for (size_t e = 0; e < sides.step.size(); ++e) {
      below.push_back(static_cast<float>(sides.below[e] * sides.step[e]));
      gap.push_back(static_cast<float>((sides.above[e] - sides.below[e]) * sides.step[e]));
    }
    request.weights.push_back({name,
                               Tensor::of<float>(weight.shape(), std::span<const float>(below)),
                               Tensor::of<float>(weight.shape(), std::span<const float>(gap))});
    return sides;
  }

  struct Kept {
    std::vector<KeptValues> given, wanted; ///< by input, by output
    int64_t bytes() const {
      int64_t out = 0;
      for (const auto* all : {&given, &wanted})
        for (const KeptValues& one : *all)
          out += one.bytes();
      return out;
    }
    int64_t batches() const { return static_cast<int64_t>(wanted.front().values().size()); }
  };

  Result<Kept> keep(const NetworkBlock& block,
                    const Graph& quantized,
                    std::span<const ValueId> inputs,
                    int64_t batches) const {
    Kept out;
    out.given.resize(inputs.size());
    out.wanted.resize(block.outputs.size());
    std::vector<StatisticRequest> in_float, in_quantized;
    for (size_t i = 0; i < inputs.size(); ++i)
      in_quantized.push_back({inputs[i], &out.given[i]});
    for (size_t o = 0; o < block.outputs.size(); ++o)
      in_float.push_back({block.outputs[o], &out.wanted[o]});
    OCTET_TRY(collect(f_.graph, in_float, first_batches(OCTET_TRY(f_.open()), batches), f_.options,
                      f_.samples));
    OCTET_TRY(collect(quantized, in_quantized, first_batches(OCTET_TRY(f_.open()), batches),
                      f_.options, f_.samples));
    return out;
  }

  /// As many batches as there is memory for, cut into those that are learned from and every fourth
  /// example, by which is judged.
  Status collect_examples(const NetworkBlock& block,
                          const Graph& quantized,
                          std::span<const ValueId> inputs,
                          RoundingRequest& request) const {
    const int64_t each = OCTET_TRY(keep(block, quantized, inputs, 1)).bytes();
    const int64_t batches = std::max<int64_t>(1, kBytesOfBlock / std::max<int64_t>(each, 1));
    const Kept kept = OCTET_TRY(keep(block, quantized, inputs, batches));
    int64_t number = 0;
    const bool together = has_fixed_rows(block);
    for (int64_t b = 0; b < kept.batches(); ++b)
      OCTET_TRY(split(kept, static_cast<size_t>(b), together, number, request));
    return ok_status();
  }

  /// Whether the block runs on so many rows only, as where the model fixes its batch.
  bool has_fixed_rows(const NetworkBlock& block) const {
    return std::any_of(block.inputs.begin(), block.inputs.end(), [&](ValueId input) {
      const TypeInfo& type = f_.graph.value(input).type;
      return type.has_rank() && type.rank() > 0 && (*type.shape)[0].is_constant() &&
             (*type.shape)[0].value() > 1;
    });
  }

  static Status
  split(const Kept& kept, size_t b, bool together, int64_t& number, RoundingRequest& request) {
    RoundingExamples whole;
    for (const KeptValues& input : kept.given)
      whole.given.push_back(input.values()[b]);
    for (const KeptValues& output : kept.wanted) {
      whole.wanted.push_back(output.values()[b]);
      whole.counts.push_back(counts_of(output.values()[b], output.masks()[b]));
    }
    const int64_t rows = common_rows(whole);
    if (together || rows == 0) {
      (number++ % 4 == 3 ? request.judged : request.fitted).push_back(std::move(whole));
      return ok_status();
    }
    std::vector<int64_t> fitted, judged;
    for (int64_t r = 0; r < rows; ++r)
      (number++ % 4 == 3 ? judged : fitted).push_back(r);
    if (!fitted.empty()) request.fitted.push_back(OCTET_TRY(part_of(whole, fitted)));
    if (!judged.empty()) request.judged.push_back(OCTET_TRY(part_of(whole, judged)));
    return ok_status();
  }

  /// The first dimension of all tensors; 0 where they have none in common.
  static int64_t common_rows(const RoundingExamples& examples) {
    int64_t out = -1;
    for (const auto* all : {&examples.given, &examples.wanted})
      for (const Tensor& t : *all) {
        const int64_t rows = t.rank() == 0 ? 0 : t.dim(0);
        if (out >= 0 && rows != out) return 0;
        out = rows;
      }
    return std::max<int64_t>(out, 0);
  }

  static Result<RoundingExamples> part_of(const RoundingExamples& whole,
                                          std::span<const int64_t> rows) {
    RoundingExamples out;
    out.rows = static_cast<int64_t>(rows.size());
    for (const auto& [from, to] :
         {std::pair(&whole.given, &out.given), std::pair(&whole.wanted, &out.wanted),
          std::pair(&whole.counts, &out.counts)})
      for (const Tensor& t : *from)
        to->push_back(OCTET_TRY(rows_of(t, rows)));
    return out;
  }

  /// Fewer where an iteration is long.
  int64_t iterations(const NetworkBlock& block, const RoundingRequest& request) const {
    constexpr double kMost = 2000, kFewest = 200, kOperations = 1e12;
    const RoundingExamples& examples = request.fitted.front();
    const Tensor& output = examples.wanted.front();
    const double channels = static_cast<double>(layer_of(block.products.back()).form.outputs),
                 places = static_cast<double>(output.count()) /
                          static_cast<double>(std::max<int64_t>(examples.rows, 1)) / channels;
    double weights = 0;
    for (const RoundingRequest::Weight& weight : request.weights)
      weights += static_cast<double>(weight.gap.count());
    const double each =
        6 * weights * std::max(places, 1.0) * static_cast<double>(kExamplesOfIteration);
    return static_cast<int64_t>(std::clamp(kOperations / each, kFewest, kMost));
  }

  void add_step(const RoundedLayer& layer,
                const WeightSides& sides,
                const Tensor& up,
                const LearnedRounding& learned,
                const NetworkBlock& block) {
    std::vector<double> codes(sides.below.size());
    int64_t moved = 0;
    for (size_t e = 0; e < codes.size(); ++e) {
      codes[e] = up.at(static_cast<int64_t>(e)) != 0 ? sides.above[e] : sides.below[e];
      moved += codes[e] != sides.nearest[e] ? 1 : 0;
    }
    const std::string& name = f_.graph.node(layer.node).name;
    PlanStep out;
    out.id = id_of(name);
    out.kind = Reconstruct{layer.with_codes(name, codes)};
    for (const PlanStep& step : plan_.steps)
      out.needs.push_back(step.id);
    out.before = std::sqrt(learned.nearest);
    out.after = std::sqrt(learned.learned);
    out.why = fmt::format(
        "{:.1f} % of {} codes are not the nearest; one of {} weights before \"{}\"",
        100.0 * static_cast<double>(moved) / static_cast<double>(codes.size()), codes.size(),
        block.products.size(), f_.graph.value(block.outputs.front()).name);
    plan_.steps.push_back(std::move(out));
  }

  const Fitting& f_;
  QuantizationPlan plan_;
  std::vector<RoundedLayer> layers_;
};

} // namespace

Status apply(SteppedGraph& stepped, const Reconstruct& step) {
  return apply_rounded(stepped, step);
}

void members(Reconstruct& step, StepMembers& to) {
  rounded_members(step, to);
}

Result<std::vector<PlanStep>> fit_reconstruct(const Fitting& fitting) {
  return ReconstructFitter(fitting).run();
}

} // namespace octet
