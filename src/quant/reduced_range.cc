// SPDX-License-Identifier: Apache-2.0
#include "quant/reduced_range.h"

#include <algorithm>
#include <numeric>

#include "core/format.h"
#include "ops/native/recurrent.h"
#include "ops/qdq/int16_pairs.h"
#include "ops/qdq/sum_order.h"
#include "quant/channels.h"
#include "quant/qdq_writer.h"
#include "quant/scheme.h"

namespace octet {

namespace {

bool is_product(const Node& node) {
  return node.is("Conv") || node.is("Gemm") || node.is("MatMul") || native::is_recurrent(node);
}

/// For each range the factor that its channels need. `weights` are in steps of their codes.
std::vector<double> needed_factors(const SumOrder& order,
                                   const Layout& layout,
                                   size_t ranges,
                                   const std::vector<double>& weights) {
  constexpr CodeSpan kAll[] = {{}};
  std::vector<double> out(ranges, 1), row(static_cast<size_t>(order.terms));
  for (int64_t o = 0; o < order.channels; ++o) {
    for (int64_t k = 0; k < order.terms; ++k)
      row[static_cast<size_t>(k)] = weights[static_cast<size_t>(weight_index(order, o, k))];
    const int64_t range = weight_index(order, o, 0) / layout.inner % layout.channels;
    double& factor = out[static_cast<size_t>(range)];
    factor = std::max(factor, least_safe_factor(row, kAll));
  }
  return out;
}

/// What the codes are rounded from.
Result<std::vector<double>>
in_steps(const Tensor& weight, const Layout& layout, const TensorPlan& plan) {
  const std::vector<QuantParameters> parameters = parameters_for(plan.scheme, plan.ranges);
  std::vector<double> out = OCTET_TRY(weight.to_doubles());
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t range = static_cast<int64_t>(i) / layout.inner % layout.channels;
    out[i] /= parameters[static_cast<size_t>(range)].scale;
  }
  return out;
}

void widen(TensorPlan& plan, size_t range, double factor, std::vector<double>& factors) {
  plan.ranges[range].lo *= factor;
  plan.ranges[range].hi *= factor;
  factors[range] *= factor;
}

} // namespace

Status reduce_range(const Node& reader, const Tensor& weight, TensorPlan& plan) {
  if (!is_product(reader) || plan.scheme.type != DType::kInt8 || !plan.scheme.symmetric ||
      plan.block > 0)
    return ok_status();
  SumOrder order{.convolution = reader.is("Conv")};
  if (!read_order(reader, weight.shape(), order).empty()) return ok_status();
  const Layout layout = layout_of(weight, plan.axis);
  std::vector<double> factors(plan.ranges.size(), 1);
  const auto first =
      needed_factors(order, layout, factors.size(), OCTET_TRY(in_steps(weight, layout, plan)));
  for (size_t i = 0; i < first.size(); ++i)
    widen(plan, i, first[i], factors);
  // Rounding may bring a pair back: of channels that have one range, or that of the scale itself.
  for (bool again = true; again;) {
    again = false;
    const Tensor codes = OCTET_TRY(weight_codes(weight, plan));
    const auto left = needed_factors(order, layout, factors.size(), OCTET_TRY(codes.to_doubles()));
    for (size_t i = 0; i < left.size(); ++i) {
      if (left[i] <= 1) continue;
      again = true;
      widen(plan, i, next_factor(1), factors);
    }
  }
  const double most = *std::max_element(factors.begin(), factors.end());
  if (most <= 1) return ok_status();
  const double mean =
      std::accumulate(factors.begin(), factors.end(), 0.0) / static_cast<double>(factors.size());
  plan.note += fmt::format("{}{:.2f} times as wide in the mean, {:.2f} at most: two products fit "
                           "into 16 bits",
                           plan.note.empty() ? "" : "; ", mean, most);
  return ok_status();
}

} // namespace octet
