// SPDX-License-Identifier: Apache-2.0
// Quantization parameters read from a graph, and the arithmetic that lowering does with them.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/format.h"
#include "ops/evaluate.h"
#include "ops/qdq/bias.h"
#include "passes/lower/context.h"

namespace octet::lowering {
namespace {

/// int8 codes of u8 or i8 codes and their zero points, when that changes no weight.
std::optional<Tensor> symmetric_codes(const Tensor& codes, const std::optional<Tensor>& zero) {
  std::vector<int64_t> zeros{0};
  if (zero) {
    auto z = zero->to_ints();
    if (!z.ok()) return std::nullopt;
    zeros = *z;
  }
  const bool shared =
      std::all_of(zeros.begin(), zeros.end(), [&](int64_t z) { return z == zeros.front(); });
  if (zeros.empty() || !shared) return std::nullopt;
  if (codes.type() == DType::kInt8 && zeros.front() == 0) return codes;
  Result<Tensor> out = Tensor::zeros(DType::kInt8, codes.shape());
  if (!out.ok()) return std::nullopt;
  const auto to = out->mutable_data<int8_t>();
  for (int64_t i = 0; i < codes.count(); ++i) {
    const double v = codes.at(i) - static_cast<double>(zeros.front());
    if (v < -128 || v > 127) return std::nullopt;
    to[static_cast<size_t>(i)] = static_cast<int8_t>(v);
  }
  return std::move(out).value();
}

} // namespace

std::optional<qdq::Grid> Context::per_tensor(const Node& node) const {
  auto grid = qdq::grid_of(in_, node, kForKernels);
  return grid ? std::optional(std::move(*grid)) : std::nullopt;
}

std::optional<Weights> Context::weights(ValueId id, std::string& why) const {
  const Node* dq = in_.producer(id);
  if (!dq || !dq->is("DequantizeLinear")) {
    why = "the weights are not quantized";
    return std::nullopt;
  }
  const std::optional<Tensor> codes = constant_value(in_, dq->input(0));
  const std::optional<Tensor> scale = constant_value(in_, dq->input(1));
  const std::optional<Tensor> zero = constant_value(in_, dq->input(2));
  if (!codes || !scale || (dq->input(2).valid() && !zero)) {
    why = "the weights or their scales are not constant";
    return std::nullopt;
  }
  if (!is_byte(codes->type()) || scale->type() != DType::kFloat32 || scale->rank() > 1) {
    why = fmt::format("weights of type {} have no integer kernel", name(codes->type()));
    return std::nullopt;
  }
  std::optional<Tensor> symmetric = symmetric_codes(*codes, zero);
  if (!symmetric) {
    why = "the weights have a zero point that int8 cannot hold";
    return std::nullopt;
  }
  Weights w;
  w.codes = std::move(*symmetric);
  const Tensor s = scale->aligned();
  w.scales.assign(s.data<float>().begin(), s.data<float>().end());
  w.axis = dq->attr_int("axis", 1);
  if (w.axis < 0) w.axis += w.codes.rank();
  return w;
}

std::optional<Tensor> Context::constant(ValueId id) const {
  return constant_value(in_, id);
}

bool Context::is_constant(ValueId id) const {
  const Node* dq = in_.producer(id);
  if (dq != nullptr && dq->is("DequantizeLinear")) {
    const Tensor* codes = in_.constant(dq->input(0));
    const Tensor* scale = in_.constant(dq->input(1));
    const Tensor* zero = in_.constant(dq->input(2));
    // What type inference leaves open: a zero point for each scale, or one.
    const bool zeros_fit =
        !dq->input(2).valid() || (zero != nullptr && scale != nullptr &&
                                  (zero->count() == 1 || zero->count() == scale->count()));
    if (codes != nullptr && scale != nullptr && zeros_fit) return true;
  }
  return constant(id).has_value();
}

std::optional<Tensor> Context::int_bias(ValueId id, const qdq::Grid& x, const Weights& w) const {
  const std::vector<double> scales(w.scales.begin(), w.scales.end());
  const auto bias = qdq::bias_in_steps(in_, id, qdq::sum_steps(x.scale_at(0), scales),
                                       [&](ValueId v) { return constant(v); });
  return bias ? bias->codes() : std::nullopt;
}

Scales fold_scales(const qdq::Grid& x,
                   const Weights& w,
                   const std::optional<Tensor>& bias,
                   const Epilogue& e) {
  const bool to_codes = e.to != DType::kFloat32;
  const double out_scale = to_codes ? static_cast<double>(e.quant.one_scale()) : 1.0;
  std::vector<float> m;
  for (const float s : w.scales)
    m.push_back(static_cast<float>(static_cast<double>(x.one_scale()) * static_cast<double>(s) /
                                   out_scale));
  Scales out{Tensor::of<float>({static_cast<int64_t>(m.size())}, m), std::nullopt};
  if (bias) {
    std::vector<float> b;
    for (int64_t i = 0; i < bias->count(); ++i)
      b.push_back(static_cast<float>(bias->at(i) / out_scale));
    out.bias = Tensor::of<float>({static_cast<int64_t>(b.size())}, b);
  }
  return out;
}

Status check_accumulator(const Node& node,
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
          node.label(), n, bound);
  }
  return ok_status();
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
