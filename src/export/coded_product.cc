// SPDX-License-Identifier: Apache-2.0
#include "export/coded_product.h"

#include "ops/evaluate.h"
#include "ops/qdq/bias.h"
#include "ops/qdq/clamp.h"
#include "quant/apply.h"
#include "repair/unsigned_codes.h"
#include "targets/checks.h"

namespace octet {

std::optional<CodedOutput> coded_output(const RuleContext& context, ValueId value) {
  const Graph& g = context.graph;
  const auto reader = [&](ValueId id) -> const Node* {
    const NodeId next = context.uses.single_consumer(id);
    return next.valid() ? &g.node(next) : nullptr;
  };
  const Node* next = reader(value);
  const Node* clamp = nullptr;
  if (next != nullptr && (next->is("Relu") || next->is("Clip"))) {
    clamp = next;
    next = reader(next->output(0));
  }
  if (next == nullptr || !is_quantize(*next)) return std::nullopt;
  auto quantize = qdq::read(g, *next, kForForms);
  if (!quantize || !quantize->grid.per_tensor()) return std::nullopt;
  if (clamp != nullptr) {
    const auto bounds = qdq::clamp_of(g, *clamp);
    if (!bounds || !qdq::saturation_does(quantize->grid, *bounds)) return std::nullopt;
  }
  return CodedOutput{std::move(*quantize), clamp};
}

std::optional<Patch> unsigned_layer(const RuleContext& context,
                                    std::span<const qdq::Site> inputs,
                                    const std::optional<CodedOutput>& output) {
  const auto unsigned_by = [&](const Node* quantize) -> std::optional<Patch> {
    if (quantize == nullptr || !is_quantize(*quantize)) return std::nullopt;
    return unsigned_codes(context.graph, *quantize, context.uses.of(quantize->output(0)));
  };
  for (const qdq::Site& in : inputs)
    if (in.grid.codes == DType::kInt8)
      if (auto patch = unsigned_by(context.graph.producer(in.codes))) return patch;
  return output ? unsigned_by(&context.graph.node(output->quantize.node)) : std::nullopt;
}

BiasCodes bias_codes(
    Patch& patch, const Graph& graph, const Node& node, const qdq::Site& x, const qdq::Site& w) {
  const ValueId bias = node.input(2);
  if (!bias.valid()) return {};
  constexpr BiasCodes kNone{.ok = false, .codes = {}};
  const double alpha = node.attr_float("alpha", 1), beta = node.attr_float("beta", 1);
  const std::string name = graph.value(bias).name + "_codes";
  if (const Node* dq = graph.producer(bias)) {
    const auto steps = qdq::sum_steps(x.grid.scale_at(0), w.grid.scales(), alpha / beta);
    const auto counted = qdq::bias_in_steps(graph, bias, steps);
    const auto codes = counted ? counted->codes() : std::nullopt;
    if (!codes) return kNone;
    const Tensor* stored = graph.constant(dq->input(0));
    const bool stays = stored != nullptr && stored->identical(*codes);
    return {.ok = true, .codes = stays ? dq->input(0) : patch.constant(name, *codes)};
  }
  const Tensor* real = graph.constant(bias);
  if (real == nullptr) return kNone;
  const auto scale = static_cast<float>(alpha * x.grid.scale_at(0));
  const auto rounded = qdq::round_to_steps(*real, beta, scale, w.grid.scales());
  if (!rounded) return kNone;
  const Tensor codes = Tensor::of<int32_t>({static_cast<int64_t>(rounded->codes.size())},
                                           std::span<const int32_t>(rounded->codes));
  return {.ok = true, .codes = patch.constant(name, codes)};
}

} // namespace octet
