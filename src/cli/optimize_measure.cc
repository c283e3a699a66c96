// SPDX-License-Identifier: Apache-2.0
#include "cli/optimize_measure.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <numeric>
#include <utility>

#include "cli/terminal.h"
#include "core/format.h"
#include "ops/infer.h"
#include "quant/held_back.h"

#include "octet/classification.h"
#include "octet/metrics.h"
#include "octet/quantize.h"
#include "octet/target.h"

namespace octet::cli {
namespace {

using Clock = std::chrono::steady_clock;
using Outputs = std::vector<std::vector<Tensor>>;

constexpr int64_t kJudgedBatch = 64;
/// Outputs of the float network that are kept to compare with; beyond it predictions alone count.
constexpr size_t kMostOutputBytes = size_t{512} << 20;

/// What a multiply-add costs beside one in f32: the cost model.
struct FormatCost {
  LayerPrecision precision;
  double cost;
};
constexpr FormatCost kFormatCosts[] = {
    {LayerPrecision::kFloat, 1},  {LayerPrecision::kTyped, 0.5}, {LayerPrecision::kInt8, 0.25},
    {LayerPrecision::kFp8, 0.25}, {LayerPrecision::kFp4, 0.125},
};

double cost_of(const LayerForm& layer) {
  if (layer.precision == LayerPrecision::kTyped && layer.type == DType::kFloat32) return 1;
  for (const FormatCost& row : kFormatCosts)
    if (row.precision == layer.precision) return row.cost;
  return 1;
}

/// Passes runs on and looks at what comes out.
class Watched final : public Executor {
 public:
  Watched(Executor& inner, Outputs& outputs, std::optional<size_t> mask)
      : inner_(inner), outputs_(outputs), keeps_(outputs.empty()), mask_(mask) {}

  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs) override {
    std::vector<Tensor> out = OCTET_TRY(inner_.run(inputs));
    const size_t batch = batches_++;
    if (keeps_) {
      for (const Tensor& t : out)
        kept_bytes_ += t.bytes().size();
      if (kept_bytes_ <= kMostOutputBytes) outputs_.push_back(out);
    } else if (batch < outputs_.size()) {
      error_.add(outputs_[batch], out, mask_ ? &inputs[*mask_] : nullptr);
    }
    return out;
  }
  double noise() const { return keeps_ ? 0 : error_.mean(); }

 private:
  Executor& inner_;
  Outputs& outputs_;
  bool keeps_;
  std::optional<size_t> mask_;
  size_t batches_ = 0, kept_bytes_ = 0;
  OutputError error_;
};

/// An example of the median length.
int64_t usual_example(const Dataset& data) {
  std::vector<int64_t> order(static_cast<size_t>(data.size()));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return data.length(a) < data.length(b); });
  return order[order.size() / 2];
}

Result<std::vector<Tensor>> usual_inputs(const Graph& graph, const Dataset& data) {
  const std::vector<int64_t> indices(static_cast<size_t>(batch_for(graph, data, 1)),
                                     usual_example(data));
  return bind_inputs(graph, OCTET_TRY(data.batch(indices)));
}

int64_t count_right(const std::vector<int64_t>& labels, const std::vector<int64_t>& predictions) {
  return std::inner_product(labels.begin(), labels.end(), predictions.begin(), int64_t{0},
                            std::plus<>(), [](int64_t a, int64_t b) { return a == b ? 1 : 0; });
}

} // namespace

Meter::Meter(const Graph& graph,
             const OptimizeData& data,
             const MeterOptions& options,
             const Common& common,
             Session session,
             std::vector<Tensor> example)
    : graph_(graph), data_(data), options_(options), common_(common), session_(std::move(session)),
      example_(std::move(example)) {}

Result<Meter> Meter::create(const Graph& graph,
                            const OptimizeData& data,
                            const MeterOptions& options,
                            const Common& common) {
  Session session = OCTET_TRY(Session::create(graph, {.threads = common.threads}));
  std::vector<Tensor> example = OCTET_TRY(usual_inputs(graph, *data.search));
  return Meter(graph, data, options, common, std::move(session), std::move(example));
}

std::string Meter::machine() const {
  return fmt::format("{} threads, {}", session_.threads(), session_.isa());
}

Result<std::unique_ptr<Executor>> Meter::executor(const Graph& network) const {
  if (options_.texts) {
    auto packed = make_native_executor(network, {.threads = common_.threads, .packed = true});
    if (packed.ok() || packed.error().code() != ErrorCode::kUnsupported) return packed;
  }
  return make_native_executor(network, {.threads = common_.threads});
}

Result<Meter::Judged>
Meter::judge(const Graph& network, const Dataset& data, Outputs& outputs) const {
  const auto inner = OCTET_TRY(executor(network));
  std::optional<size_t> mask;
  for (size_t i = 0; i < graph_.inputs().size(); ++i)
    if (!options_.mask_input.empty() &&
        graph_.value(graph_.inputs()[i]).name == options_.mask_input)
      mask = i;
  Watched watched(*inner, outputs, mask);
  const Interruptible interruptible;
  Judged out;
  if (data_.labelled) {
    Classification said = OCTET_TRY(
        classify(graph_, watched, data, {.batch = kJudgedBatch, .progress = [&](int64_t, int64_t) {
                                           return !interruptible.stopped();
                                         }}));
    out.labels = std::move(said.labels);
    out.predictions = std::move(said.predictions);
  } else {
    const CalibrationSource next = batches_of(graph_, data, 0, kJudgedBatch);
    while (auto inputs = OCTET_TRY(next())) {
      OCTET_TRY(watched.run(*inputs));
      OCTET_TRY(interruptible.check());
    }
  }
  out.noise = watched.noise();
  return out;
}

Status
Meter::know_float(const Dataset& data, std::optional<Judged>& judged, Outputs& outputs) const {
  if (!judged) judged = OCTET_TRY(judge(graph_, data, outputs));
  return ok_status();
}

Result<double> Meter::work(const Graph& network) const {
  Graph sized = network;
  for (size_t i = 0; i < sized.inputs().size(); ++i)
    sized.set_type(sized.inputs()[i], tensor_type(example_[i].type(), example_[i].shape()));
  OCTET_TRY(infer_types(sized));
  double sum = 0;
  for (const LayerForm& layer : OCTET_TRY(explain(sized, options_.target)))
    sum += cost_of(layer) * static_cast<double>(layer.work - layer.float_work) +
           static_cast<double>(layer.float_work);
  return sum;
}

Result<double> Meter::latency_ms(const Graph* quantized, const Measured* as_float) {
  constexpr double kMostMs = 600;
  constexpr size_t kWarmRuns = 3, kLeastRuns = 15, kMostRuns = 400;
  std::optional<Session> other;
  if (quantized != nullptr)
    other = OCTET_TRY(Session::create(*quantized, {.threads = common_.threads}));
  std::vector<SessionContext> contexts;
  contexts.push_back(session_.context());
  if (other) contexts.push_back(other->context());
  std::array<std::vector<double>, 2> times;
  const auto begin = Clock::now();
  for (size_t run = 0; run < kWarmRuns + kMostRuns; ++run) {
    for (size_t k = 0; k < contexts.size(); ++k) {
      const auto start = Clock::now();
      OCTET_TRY(contexts[k].run(example_));
      if (run >= kWarmRuns) times[k].push_back(milliseconds(Clock::now() - start));
    }
    if (run >= kWarmRuns + kLeastRuns && milliseconds(Clock::now() - begin) > kMostMs) break;
  }
  const double float_ms = quantile(times[0], 0.5);
  if (!other || as_float == nullptr || float_ms <= 0) return float_ms;
  return as_float->ms * quantile(times[1], 0.5) / float_ms;
}

Result<Measured> Meter::measure(const Graph* quantized, const Measured* as_float) {
  const Graph& network = quantized != nullptr ? *quantized : graph_;
  if (quantized != nullptr)
    for (const Finding& finding : OCTET_TRY(octet::check(network, options_.target)))
      if (finding.severity == Severity::kError)
        return error(ErrorCode::kRefused, "{} refuses it: {}: {}", options_.target, finding.node,
                     finding.message);
  OCTET_TRY(know_float(*data_.search, search_float_, search_outputs_));
  const Judged judged = quantized != nullptr
                            ? OCTET_TRY(judge(network, *data_.search, search_outputs_))
                            : *search_float_;
  Measured out{.right = count_right(judged.labels, judged.predictions),
               .noise = judged.noise,
               .ms = 0,
               .work = OCTET_TRY(work(network)),
               .seconds = 0};
  if (options_.costs == CostBy::kMeasured) out.ms = OCTET_TRY(latency_ms(quantized, as_float));
  return out;
}

Result<HeldOut> Meter::check(const Graph& quantized) {
  OCTET_TRY(know_float(*data_.held_out, held_out_float_, held_out_outputs_));
  const Judged judged = OCTET_TRY(judge(quantized, *data_.held_out, held_out_outputs_));
  HeldOut out{.examples = data_.held_out->size(), .noise = judged.noise};
  if (!data_.labelled) return out;
  const PairedTest test =
      OCTET_TRY(mcnemar(judged.labels, held_out_float_->predictions, judged.predictions));
  out.right_float = count_right(judged.labels, held_out_float_->predictions);
  out.right = count_right(judged.labels, judged.predictions);
  out.drop = accuracy_points(out.right_float, out.right, out.examples);
  out.drop_low = -100 * test.interval.second;
  out.drop_high = -100 * test.interval.first;
  out.p_value = test.p_value;
  return out;
}

} // namespace octet::cli
