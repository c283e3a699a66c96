// SPDX-License-Identifier: Apache-2.0
#include "octet/certify.h"

#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "ops/infer.h"
#include "passes/inline_functions.h"
#include "targets/certify/products.h"
#include "targets/certify/saturation.h"
#include "targets/repair/coding.h"

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

/// A tensor of a new value in place of an input.
void put_input(Graph& graph, const InputAt& at, Tensor tensor) {
  const std::string& name = graph.value(graph.node(at.node).input(at.input)).name;
  graph.set_node_input(at.node, at.input,
                       graph.add_constant(graph.unique_name(name), std::move(tensor)));
}

/// Codes divided by the factor of their channel.
Result<Tensor> divided(const Tensor& codes,
                       const std::vector<double>& factors,
                       const std::function<int64_t(int64_t)>& channel_of) {
  std::vector<double> out = OCTET_TRY(codes.to_doubles());
  for (size_t i = 0; i < out.size(); ++i)
    out[i] =
        std::nearbyint(out[i] / factors[static_cast<size_t>(channel_of(static_cast<int64_t>(i)))]);
  return Tensor::from_doubles(codes.type(), codes.shape(), out);
}

/// Scales multiplied by as many factors.
Result<Tensor> multiplied(const Tensor& scale, const std::vector<double>& factors) {
  std::vector<double> out = OCTET_TRY(scale.to_doubles());
  for (size_t i = 0; i < out.size(); ++i)
    out[i] *= factors[i];
  return Tensor::from_doubles(scale.type(), scale.shape(), out);
}

} // namespace

struct Certification::Impl {
  Graph graph;
  Products products;
  std::vector<CertifiedLayer> layers;
  std::unique_ptr<Executor> tapped;

  Status prepare(const ExecutorFactory& make);
  Status reduce(Graph& out, const StoredProduct& p) const;
  Status reduce_bias(Graph& out, const StoredProduct& p, const std::vector<double>& factors) const;
};

Certification::Certification(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Certification::Certification(Certification&&) noexcept = default;
Certification& Certification::operator=(Certification&&) noexcept = default;
Certification::~Certification() = default;

Result<Certification> Certification::create(const Graph& graph) {
  auto impl = std::make_unique<Impl>();
  impl->graph = graph;
  if (!graph.info.functions.empty()) OCTET_TRY_WITH(inline_functions(impl->graph), "certify");
  OCTET_TRY_WITH(infer_types(impl->graph), "certify");
  impl->products = find_products(impl->graph);
  for (const StoredProduct& product : impl->products.found)
    impl->layers.push_back(certify_layer(impl->graph, product));
  return Certification(std::move(impl));
}

const std::vector<CertifiedLayer>& Certification::layers() const {
  return impl_->layers;
}

const std::vector<Unexamined>& Certification::unexamined() const {
  return impl_->products.unexamined;
}

bool Certification::safe() const {
  return impl_->products.unexamined.empty() &&
         std::none_of(impl_->layers.begin(), impl_->layers.end(),
                      [](const CertifiedLayer& l) { return l.can_saturate(); });
}

/// Two outputs for each product: its codes, and the zero point where it is computed (else the codes
/// once more).
Status Certification::Impl::prepare(const ExecutorFactory& make) {
  Graph taps = graph;
  std::vector<ValueId> outputs;
  for (const StoredProduct& p : products.found) {
    ValueId codes = p.activation, zero = p.computed_zero;
    if (p.dynamic) codes = taps.emit("DynamicQuantizeLinear", {codes}, {}, {}, {}, 3);
    if (p.requantize.valid()) {
      const Node dq = taps.node(p.requantize);
      std::vector<ValueId> inputs = {codes, dq.input(1)};
      if (dq.input(2).valid()) inputs.push_back(dq.input(2));
      codes = taps.emit("QuantizeLinear", std::move(inputs));
    }
    outputs.push_back(codes);
    outputs.push_back(zero.valid() ? zero : codes);
  }
  taps.set_outputs(std::move(outputs));
  taps.remove_dead();
  OCTET_TRY(infer_types(taps));
  tapped = OCTET_TRY(make ? make(taps) : make_reference_executor(taps));
  return ok_status();
}

Status Certification::simulate(std::span<const Tensor> inputs, const ExecutorFactory& make) {
  Impl& d = *impl_;
  if (d.products.found.empty()) return ok_status();
  if (!d.tapped) OCTET_TRY_WITH(d.prepare(make), "certify");
  const std::vector<Tensor> codes = OCTET_TRY_WITH(d.tapped->run(inputs), "certify");
  for (size_t i = 0; i < d.products.found.size(); ++i) {
    const StoredProduct& p = d.products.found[i];
    CertifiedLayer& layer = d.layers[i];
    const Tensor& computed = codes[2 * i + 1];
    const int32_t zero = p.computed_zero.valid() && computed.count() > 0
                             ? static_cast<int32_t>(computed.at(0)) + p.offset
                             : p.zero;
    const Positions at =
        OCTET_TRY_WITH(gather_positions(d.graph, p, codes[2 * i], zero, kPositions),
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
  const std::string layer = fmt::format("certify: {} {}", node.op_type, name_of(graph, node));
  if (!p.scale.valid())
    return error("{} has the scale of its weights in the operators behind it; write the file with "
                 "Q/DQ first: octet repair --target tensorrt-10",
                 layer);
  if (p.weight_zero)
    return error("{} has weights with a zero point; write them without first: octet repair "
                 "--target tensorrt-10",
                 layer);
  const auto scale = constant_value(graph, graph.node(p.scale.node).input(p.scale.input));
  if (!scale) return error("{} has computed weight scales; make them constants", layer);
  const int64_t scales = scale->count();
  if (scales != 1 && scales != p.channels)
    return error("{} has {} weight scales for {} channels; give one or one for each", layer, scales,
                 p.channels);
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
      channel_of[static_cast<size_t>(weight_index(p, o, k))] = scales == 1 ? 0 : o;
  put_input(out, p.codes, OCTET_TRY(divided(p.stored, factors, [&](int64_t i) {
              return channel_of[static_cast<size_t>(i)];
            })));
  put_input(out, p.scale, OCTET_TRY(multiplied(*scale, factors)));
  return reduce_bias(out, p, factors);
}

/// int32 codes of a bias that counts in steps of the sum; a DequantizeLinear's keep their value by
/// themselves and follow only where they had the weights' scales.
Status Certification::Impl::reduce_bias(Graph& out,
                                        const StoredProduct& p,
                                        const std::vector<double>& factors) const {
  if (!p.bias.valid()) return ok_status();
  const Node& holder = graph.node(p.bias.node);
  const auto codes = constant_value(graph, holder.input(p.bias.input));
  const bool one = factors.size() == 1;
  const auto factor_of = [&](int64_t i) { return one ? 0 : i % p.channels; };
  const bool follows =
      codes && codes->type() == DType::kInt32 && (one || codes->count() % p.channels == 0);
  if (is_dequantize(holder)) {
    const auto scale = constant_value(graph, holder.input(1));
    if (!follows || !scale || static_cast<size_t>(scale->count()) != factors.size())
      return ok_status();
    put_input(out, {holder.id, 1}, OCTET_TRY(multiplied(*scale, factors)));
  } else if (!follows) {
    return error("certify: {} {} has a bias that is no constant of int32 codes for each channel",
                 holder.op_type, name_of(graph, holder));
  }
  put_input(out, p.bias, OCTET_TRY(divided(*codes, factors, factor_of)));
  return ok_status();
}

Result<Graph> Certification::reduced() const {
  Graph out = impl_->graph;
  for (size_t i = 0; i < impl_->products.found.size(); ++i)
    if (impl_->layers[i].can_saturate()) OCTET_TRY(impl_->reduce(out, impl_->products.found[i]));
  out.remove_dead();
  return out;
}

} // namespace octet
