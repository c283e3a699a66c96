// SPDX-License-Identifier: Apache-2.0
#include "octet/certify.h"

#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "ops/infer.h"
#include "targets/certify/products.h"
#include "targets/certify/saturation.h"
#include "targets/checks.h"

namespace octet {

namespace {

constexpr int64_t kPositions = 64; // of a layer and batch
constexpr double kFactorStep = 1.002;
constexpr int kMaxFactorSteps = 2000; // 1.002^2000 = 54: the weights are down to 2 by then

/// The largest pair of one output channel.
PairBounds channel_bounds(std::span<const int8_t> weights, int32_t lowest, int32_t highest) {
  PairBounds out;
  for (size_t k = 0; k < weights.size(); k += 2) {
    const PairBounds pair =
        pair_bounds(weights[k], k + 1 < weights.size() ? weights[k + 1] : 0, lowest, highest);
    out.low = std::min(out.low, pair.low);
    out.high = std::max(out.high, pair.high);
  }
  return out;
}

std::span<const int8_t> channel(const StoredProduct& p, int64_t o) {
  return std::span(p.weights).subspan(static_cast<size_t>(o * p.terms),
                                      static_cast<size_t>(p.terms));
}

CertifiedLayer certify_layer(const Graph& graph, const StoredProduct& p) {
  CertifiedLayer out;
  out.node = name_of(graph, graph.node(p.node));
  out.op = graph.node(p.node).op_type;
  out.channels = p.channels;
  out.terms = p.terms;
  out.lowest = p.lowest;
  out.highest = p.highest;
  for (int64_t o = 0; o < p.channels; ++o) {
    const auto weights = channel(p, o);
    int64_t sum = 0;
    for (size_t k = 0; k < weights.size(); k += 2) {
      const PairBounds pair =
          pair_bounds(weights[k], k + 1 < weights.size() ? weights[k + 1] : 0, p.lowest, p.highest);
      ++out.pairs;
      out.saturating_pairs += pair.can_saturate() ? 1 : 0;
      out.largest_pair = std::max({out.largest_pair, pair.high, -pair.low});
      sum += std::max(pair.high, -pair.low);
    }
    out.fits_int32 = out.fits_int32 && sum <= 2147483647;
  }
  return out;
}

std::vector<int8_t> coarser(std::span<const int8_t> weights, double factor) {
  std::vector<int8_t> out;
  for (const int8_t w : weights)
    out.push_back(static_cast<int8_t>(std::nearbyint(w / factor)));
  return out;
}

/// The least factor, in steps, whose rounded weights cannot saturate.
double safe_factor(std::span<const int8_t> weights, int32_t lowest, int32_t highest) {
  double factor = 1;
  for (int step = 0; step < kMaxFactorSteps; ++step, factor *= kFactorStep)
    if (!channel_bounds(coarser(weights, factor), lowest, highest).can_saturate()) break;
  return factor;
}

/// Codes and scales of a DequantizeLinear divided and multiplied by a factor for each scale.
Status rescale(Graph& graph,
               NodeId dq,
               const std::vector<double>& factors,
               const std::function<int64_t(int64_t)>& scale_of) {
  const Node node = graph.node(dq);
  const Tensor codes = *graph.constant(node.input(0));
  const Tensor scale = *graph.constant(node.input(1));
  Tensor new_codes = OCTET_TRY(Tensor::zeros(codes.type(), codes.shape()));
  for (int64_t i = 0; i < codes.count(); ++i) {
    const double code = std::nearbyint(codes.at(i) / factors[static_cast<size_t>(scale_of(i))]);
    if (codes.type() == DType::kInt8)
      new_codes.mutable_data<int8_t>()[static_cast<size_t>(i)] = static_cast<int8_t>(code);
    else
      new_codes.mutable_data<int32_t>()[static_cast<size_t>(i)] = static_cast<int32_t>(code);
  }
  std::vector<float> scales;
  for (int64_t i = 0; i < scale.count(); ++i)
    scales.push_back(static_cast<float>(scale.at(i) * factors[static_cast<size_t>(i)]));
  const std::string& name = graph.value(node.input(0)).name;
  graph.set_node_input(dq, 0, graph.add_constant(graph.unique_name(name), std::move(new_codes)));
  graph.set_node_input(
      dq, 1,
      graph.add_constant(graph.unique_name(graph.value(node.input(1)).name),
                         Tensor::of<float>(scale.shape(), std::span<const float>(scales))));
  return ok_status();
}

} // namespace

struct Certification::Impl {
  Graph graph;
  std::vector<StoredProduct> products;
  std::vector<CertifiedLayer> layers;
  std::unique_ptr<Executor> tapped;

  Status prepare(const ExecutorFactory& make);
  Status reduce(Graph& out, const StoredProduct& p) const;
};

Certification::Certification(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Certification::Certification(Certification&&) noexcept = default;
Certification& Certification::operator=(Certification&&) noexcept = default;
Certification::~Certification() = default;

Result<Certification> Certification::create(const Graph& graph) {
  auto impl = std::make_unique<Impl>();
  impl->graph = graph;
  OCTET_TRY_WITH(infer_types(impl->graph), "certify");
  impl->products = find_stored_products(impl->graph);
  for (const StoredProduct& product : impl->products)
    impl->layers.push_back(certify_layer(impl->graph, product));
  return Certification(std::move(impl));
}

const std::vector<CertifiedLayer>& Certification::layers() const {
  return impl_->layers;
}

bool Certification::safe() const {
  return std::none_of(impl_->layers.begin(), impl_->layers.end(),
                      [](const CertifiedLayer& l) { return l.can_saturate(); });
}

Status Certification::Impl::prepare(const ExecutorFactory& make) {
  Graph taps = graph;
  std::vector<ValueId> outputs;
  for (const StoredProduct& p : products)
    outputs.push_back(p.activation);
  taps.set_outputs(std::move(outputs));
  taps.remove_dead();
  tapped = OCTET_TRY(make ? make(taps) : make_reference_executor(taps));
  return ok_status();
}

Status Certification::simulate(std::span<const Tensor> inputs, const ExecutorFactory& make) {
  Impl& d = *impl_;
  if (d.products.empty()) return ok_status();
  if (!d.tapped) OCTET_TRY_WITH(d.prepare(make), "certify");
  const std::vector<Tensor> codes = OCTET_TRY_WITH(d.tapped->run(inputs), "certify");
  for (size_t i = 0; i < d.products.size(); ++i) {
    const StoredProduct& p = d.products[i];
    CertifiedLayer& layer = d.layers[i];
    const Positions at = OCTET_TRY_WITH(gather_positions(d.graph, p, codes[i], kPositions),
                                        fmt::format("certify: {}", layer.node));
    const int64_t per_group = p.channels / p.groups;
    for (int64_t row = 0; row < at.count; ++row)
      for (int64_t o = 0; o < p.channels; ++o) {
        const auto activations = std::span(at.codes).subspan(
            static_cast<size_t>((row * p.groups + o / per_group) * p.terms),
            static_cast<size_t>(p.terms));
        const TwoSums sums = add_up(activations, channel(p, o));
        const int64_t error = std::abs(sums.exact - sums.saturated);
        ++layer.sums;
        layer.wrong_sums += error != 0 ? 1 : 0;
        layer.largest_error = std::max(layer.largest_error, error);
      }
  }
  return ok_status();
}

Status Certification::Impl::reduce(Graph& out, const StoredProduct& p) const {
  const Node& node = graph.node(p.node);
  const Node& dq = graph.node(p.weight_dq);
  const int64_t scales = graph.constant(dq.input(1))->count();
  if (scales != 1 && scales != p.channels)
    return error("certify: {} has {} weight scales for {} channels; give one or one for each",
                 name_of(graph, node), scales, p.channels);
  std::vector<double> factors(static_cast<size_t>(scales), 1);
  for (int64_t o = 0; o < p.channels; ++o) {
    double& factor = factors[static_cast<size_t>(scales == 1 ? 0 : o)];
    factor = std::max(factor, safe_factor(channel(p, o), p.lowest, p.highest));
  }
  // With one scale the largest factor serves all: a larger one never brings a pair back, but
  // rounding might, so it is tried on all of them.
  if (scales == 1)
    while (channel_bounds(coarser(p.weights, factors[0]), p.lowest, p.highest).can_saturate())
      factors[0] *= kFactorStep;
  std::vector<int64_t> channel_of(p.weights.size());
  for (int64_t o = 0; o < p.channels; ++o)
    for (int64_t k = 0; k < p.terms; ++k)
      channel_of[static_cast<size_t>(weight_index(graph, p, o, k))] = scales == 1 ? 0 : o;
  OCTET_TRY(rescale(out, p.weight_dq, factors,
                    [&](int64_t i) { return channel_of[static_cast<size_t>(i)]; }));
  const Node* bias = graph.producer(node.input(2));
  if (bias == nullptr || !is_dequantize(*bias)) return ok_status();
  const Tensor* codes = graph.constant(bias->input(0));
  const Tensor* scale = graph.constant(bias->input(1));
  if (codes == nullptr || scale == nullptr || codes->type() != DType::kInt32 ||
      scale->count() != scales)
    return ok_status();
  return rescale(out, bias->id, factors, [&](int64_t i) { return scales == 1 ? 0 : i; });
}

Result<Graph> Certification::reduced() const {
  Graph out = impl_->graph;
  for (size_t i = 0; i < impl_->products.size(); ++i)
    if (impl_->layers[i].can_saturate()) OCTET_TRY(impl_->reduce(out, impl_->products[i]));
  out.remove_dead();
  return out;
}

} // namespace octet
