// SPDX-License-Identifier: Apache-2.0
#include "octet/certify.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "certify/products.h"
#include "certify/reduce.h"
#include "certify/saturation.h"
#include "core/format.h"
#include "graph/label.h"
#include "ops/infer.h"
#include "ops/qdq/int16_pairs.h"
#include "ops/qdq/site.h"

#include "octet/passes.h"

namespace octet {

namespace {

constexpr int64_t kPositions = 64; // of a layer and batch

CertifiedLayer certify_layer(const Graph& graph, const StoredProduct& p) {
  CertifiedLayer out;
  out.node = name_of(graph, graph.node(p.node));
  out.op = graph.node(p.node).op_type;
  out.channels = p.channels;
  out.terms = p.terms;
  out.lowest = p.lowest;
  out.highest = p.highest;
  out.in_float = p.in_float;
  for (int64_t o = 0; o < p.channels; ++o) {
    const auto weights = channel_weights(p, o);
    int64_t sum = 0, high = 0, low = 0;
    for (size_t k = 0; k < weights.size(); k += 2) {
      const PairBounds pair =
          pair_bounds(weights[k], k + 1 < weights.size() ? weights[k + 1] : 0, p.span());
      ++out.pairs;
      out.saturating_pairs += pair.can_saturate() ? 1 : 0;
      out.largest_pair = std::max({out.largest_pair, pair.high, -pair.low});
      sum += std::max(pair.high, -pair.low);
      high += pair.high;
      low += pair.low;
    }
    out.largest_sum = std::max({out.largest_sum, high, -low});
    out.fits_int32 = out.fits_int32 && sum <= 2147483647;
  }
  return out;
}

} // namespace

struct Certification::Impl {
  Graph graph;
  Products products;
  std::vector<CertifiedLayer> layers;
  /// An output of the tapped graph: codes of a product's activation, or their computed zero point.
  struct Tap {
    size_t product;
    bool is_zero;
  };
  /// What came of a product in the running batch.
  struct Arrived {
    Tensor codes;
    std::optional<int32_t> zero;
  };
  std::unique_ptr<Executor> tapped;
  std::vector<Tap> taps;

  Status prepare(const ExecutorFactory& make);
  Status arrive(std::vector<Arrived>& batch, const Tap& tap, const Tensor& value);
  Status simulate(size_t product, const Tensor& codes, int32_t zero);
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

/// The codes of each product and the zero point where it is computed.
Status Certification::Impl::prepare(const ExecutorFactory& make) {
  Graph out = graph;
  std::vector<ValueId> outputs;
  for (size_t i = 0; i < products.found.size(); ++i) {
    const StoredProduct& p = products.found[i];
    ValueId codes = p.activation;
    if (p.dynamic) codes = out.emit("DynamicQuantizeLinear", {codes}, {}, {}, {}, 3);
    if (p.requantize.valid()) {
      const Node dq = out.node(p.requantize);
      const qdq::Written parameters = qdq::written(out, dq);
      std::vector<ValueId> inputs = {codes, parameters.scale};
      if (parameters.zero.valid()) inputs.push_back(parameters.zero);
      codes = out.emit("QuantizeLinear", std::move(inputs));
    }
    if (p.computed_zero.valid()) {
      outputs.push_back(p.computed_zero);
      taps.push_back({i, true});
    }
    outputs.push_back(codes);
    taps.push_back({i, false});
  }
  out.set_outputs(std::move(outputs));
  out.remove_dead();
  OCTET_TRY(infer_types(out));
  tapped = OCTET_TRY(make ? make(out) : make_reference_executor(out));
  return ok_status();
}

Status Certification::simulate(std::span<const Tensor> inputs, const ExecutorFactory& make) {
  Impl& d = *impl_;
  if (d.products.found.empty()) return ok_status();
  if (!d.tapped) OCTET_TRY_WITH(d.prepare(make), "certify");
  std::vector<Impl::Arrived> batch(d.products.found.size());
  for (size_t i = 0; i < batch.size(); ++i)
    if (!d.products.found[i].computed_zero.valid()) batch[i].zero = d.products.found[i].zero;
  OCTET_TRY_WITH(d.tapped->stream(inputs,
                                  [&](size_t output, const Tensor& value) {
                                    return d.arrive(batch, d.taps[output], value);
                                  }),
                 "certify");
  return ok_status();
}

/// Adds a product up once both its codes and their zero point are there.
Status
Certification::Impl::arrive(std::vector<Arrived>& batch, const Tap& tap, const Tensor& value) {
  const StoredProduct& p = products.found[tap.product];
  Arrived& arrived = batch[tap.product];
  if (!tap.is_zero) {
    if (arrived.zero) return simulate(tap.product, value, *arrived.zero);
    arrived.codes = value.clone();
    return ok_status();
  }
  arrived.zero = value.count() > 0 ? static_cast<int32_t>(value.at(0)) + p.offset : p.zero;
  if (arrived.codes.empty()) return ok_status();
  return simulate(tap.product, std::exchange(arrived.codes, Tensor{}), *arrived.zero);
}

Status Certification::Impl::simulate(size_t product, const Tensor& codes, int32_t zero) {
  const StoredProduct& p = products.found[product];
  CertifiedLayer& layer = layers[product];
  const Positions at =
      OCTET_TRY_WITH(gather_positions(graph, p, codes, zero, kPositions), layer.node);
  const int64_t per_group = p.channels / p.groups;
  for (int64_t row = 0; row < at.count; ++row)
    for (int64_t o = 0; o < p.channels; ++o) {
      const auto activations = std::span(at.codes).subspan(
          static_cast<size_t>((row * p.groups + o / per_group) * p.terms),
          static_cast<size_t>(p.terms));
      const TwoSums sums = add_up(activations, channel_weights(p, o));
      const int64_t error = std::abs(sums.exact - sums.saturated);
      ++layer.sums;
      layer.wrong_sums += error != 0 ? 1 : 0;
      layer.largest_error = std::max(layer.largest_error, error);
    }
  return ok_status();
}

Result<Graph> Certification::reduced() const {
  std::vector<const StoredProduct*> wanted;
  for (size_t i = 0; i < impl_->products.found.size(); ++i)
    if (impl_->layers[i].can_saturate()) wanted.push_back(&impl_->products.found[i]);
  return with_coarser_weights(impl_->graph, wanted);
}

} // namespace octet
