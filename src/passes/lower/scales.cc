// SPDX-License-Identifier: Apache-2.0
// Quantization parameters read from a graph, and the arithmetic that lowering does with them.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/format.h"
#include "graph/label.h"
#include "ops/evaluate.h"
#include "ops/qdq/bias.h"
#include "passes/lower/context.h"

namespace octet::lowering {
namespace {

/// What is surely evaluated. What type inference leaves open: a zero point for each scale, or one.
constexpr qdq::Reading kStoredConstant{
    .most = qdq::Reading::Most::kAny, .written_zero = false, .lone_zero = true, .microsoft = false};

std::string no_weights(const Graph& graph, ValueId id, qdq::WhyNot why) {
  switch (why) {
  case qdq::WhyNot::kNotQdq:
  case qdq::WhyNot::kOtherDomain:
    return "the weights are not quantized";
  case qdq::WhyNot::kScaleComputed:
  case qdq::WhyNot::kZeroComputed:
  case qdq::WhyNot::kCodesComputed:
    return "the weights or their scales are not constant";
  case qdq::WhyNot::kSeveralZeros:
  case qdq::WhyNot::kOutOfInt8:
    return "the weights have a zero point that int8 cannot hold";
  case qdq::WhyNot::kCodesType:
  case qdq::WhyNot::kScaleType:
  case qdq::WhyNot::kGranularity: {
    const ValueId codes = codes_of_qdq(*graph.producer(id));
    return fmt::format("weights of type {} have no integer kernel",
                       name(graph.value(codes).type.type));
  }
  default:
    return fmt::format("of the weights' DequantizeLinear {}", qdq::text(why));
  }
}

} // namespace

std::optional<qdq::Grid> Context::per_tensor(const Node& node) const {
  auto grid = qdq::grid_of(in_, node, kForKernels);
  return grid ? std::optional(std::move(*grid)) : std::nullopt;
}

std::optional<qdq::StoredCodes> Context::weights(ValueId id, std::string& why) const {
  const auto stored = qdq::stored_codes(in_, id);
  if (!stored) {
    why = no_weights(in_, id, stored.why());
    return std::nullopt;
  }
  auto symmetric = qdq::symmetric_int8(*stored);
  if (symmetric) return std::move(*symmetric);
  why = no_weights(in_, id, symmetric.why());
  return std::nullopt;
}

std::optional<Tensor> Context::constant(ValueId id) const {
  return constant_value(in_, id);
}

bool Context::is_constant(ValueId id) const {
  const auto dq = qdq::read_dequantize(in_, id, kStoredConstant);
  if (dq && in_.constant(dq->codes) != nullptr) return true;
  return constant(id).has_value();
}

std::optional<Tensor>
Context::int_bias(ValueId id, const qdq::Grid& x, const qdq::StoredCodes& w) const {
  const auto bias = qdq::bias_in_steps(in_, id, qdq::sum_steps(x.scale_at(0), w.grid.scales()));
  return bias ? bias->codes() : std::nullopt;
}

Scales fold_scales(const qdq::Grid& x,
                   const qdq::StoredCodes& w,
                   const std::optional<Tensor>& bias,
                   const Epilogue& e) {
  const bool to_codes = e.to != DType::kFloat32;
  const double out_scale = to_codes ? static_cast<double>(e.quant.one_scale()) : 1.0;
  std::vector<float> m;
  for (const double s : w.grid.scales())
    m.push_back(static_cast<float>(x.scale_at(0) * s / out_scale));
  Scales out{Tensor::of<float>({static_cast<int64_t>(m.size())}, m), std::nullopt};
  if (bias) {
    std::vector<float> b;
    for (int64_t i = 0; i < bias->count(); ++i)
      b.push_back(static_cast<float>(bias->at(i) / out_scale));
    out.bias = Tensor::of<float>({static_cast<int64_t>(b.size())}, b);
  }
  return out;
}

Status check_accumulator(const Graph& graph,
                         const Node& node,
                         const Tensor& codes,
                         const qdq::Grid& x,
                         const std::optional<Tensor>& int_bias) {
  const auto [low, high] = *x.code_range();
  const int64_t reach = std::max(std::abs(low - x.one_zero()), std::abs(high - x.one_zero()));
  const int64_t channels = codes.dim(0);
  const int64_t depth = channels ? codes.count() / channels : 0;
  const auto w = codes.data<int8_t>();
  for (int64_t n = 0; n < channels; ++n) {
    int64_t sum = 0;
    for (int64_t k = 0; k < depth; ++k)
      sum += std::abs(static_cast<int64_t>(w[static_cast<size_t>(n * depth + k)]));
    int64_t bound = sum * reach;
    if (int_bias && !int_bias->empty())
      bound += std::abs(static_cast<int64_t>(int_bias->at(int_bias->count() == 1 ? 0 : n)));
    if (bound >= int64_t{1} << 31)
      return error(
          "node {}: output channel {} can reach {} in its int32 sum, which holds less than "
          "2^31; keep this layer in float",
          label(graph, node), n, bound);
  }
  return ok_status();
}

Tensor rescale_table(const qdq::Grid& from, const qdq::Grid& to) {
  Tensor table = Tensor::zeros(to.codes, {256}).value();
  const int64_t low = from.code_range()->lo;
  for (int64_t i = 0; i < 256; ++i) {
    const float v = qdq::value_of(from, low + i);
    table.mutable_bytes()[static_cast<size_t>(i)] =
        static_cast<std::byte>(qdq::code_of(to, v) & 0xff);
  }
  return table;
}

Tensor permuted(const Tensor& t, std::span<const int64_t> perm) {
  const size_t rank = perm.size();
  Shape shape(rank);
  std::vector<int64_t> strides(rank, 1), from(rank);
  for (size_t i = rank; i-- > 1;)
    strides[i - 1] = strides[i] * t.shape()[i];
  for (size_t i = 0; i < rank; ++i) {
    shape[i] = t.shape()[static_cast<size_t>(perm[i])];
    from[i] = strides[static_cast<size_t>(perm[i])];
  }
  Tensor out = Tensor::zeros(t.type(), shape).value();
  const auto width = static_cast<size_t>(bits(t.type()) / 8);
  const std::byte* source = t.bytes().data();
  std::byte* target = out.mutable_bytes().data();
  std::vector<int64_t> index(rank, 0);
  for (int64_t i = 0; i < t.count(); ++i) {
    int64_t at = 0;
    for (size_t a = 0; a < rank; ++a)
      at += index[a] * from[a];
    std::copy_n(source + static_cast<size_t>(at) * width, width,
                target + static_cast<size_t>(i) * width);
    for (size_t a = rank; a-- > 0;) {
      if (++index[a] < shape[a]) break;
      index[a] = 0;
    }
  }
  return out;
}

} // namespace octet::lowering
