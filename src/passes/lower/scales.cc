// SPDX-License-Identifier: Apache-2.0
// Quantization parameters read from a graph, and the arithmetic that lowering does with them.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "core/format.h"
#include "graph/label.h"
#include "ops/evaluate.h"
#include "ops/native/epilogue.h"
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

template <class AroundZero>
std::optional<qdq::StoredCodes>
stored_weights(const Graph& graph, ValueId id, AroundZero&& around_zero, std::string& why) {
  const auto stored = qdq::stored_codes(graph, id);
  if (!stored) {
    why = no_weights(graph, id, stored.why());
    return std::nullopt;
  }
  auto centered = around_zero(*stored);
  if (centered) return std::move(*centered);
  why = no_weights(graph, id, centered.why());
  return std::nullopt;
}

} // namespace

std::optional<qdq::Grid> Context::per_tensor(const Node& node) const {
  auto grid = qdq::grid_of(in_, node, kForKernels);
  return grid ? std::optional(std::move(*grid)) : std::nullopt;
}

std::optional<qdq::StoredCodes> Context::weights(ValueId id, std::string& why) const {
  return stored_weights(in_, id, qdq::symmetric_int8, why);
}

std::optional<qdq::StoredCodes> Context::wide_weights(ValueId id, std::string& why) const {
  const auto around_zero = [](const qdq::StoredCodes& stored) {
    return qdq::less_zeros(stored, native::kLeastWideWeight, native::kMostWideWeight);
  };
  return stored_weights(in_, id, around_zero, why);
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

namespace {

template <class T>
int64_t sum_of_magnitudes(std::span<const T> codes) {
  constexpr size_t kTogether = 64; // a count that compilers make vectors of
  int64_t sum = 0;
  size_t i = 0;
  for (; i + kTogether <= codes.size(); i += kTogether) {
    const T* from = codes.data() + i;
    int32_t part = 0;
    for (size_t k = 0; k < kTogether; ++k)
      part += from[k] < 0 ? -from[k] : from[k];
    sum += part;
  }
  for (; i < codes.size(); ++i)
    sum += std::abs(codes[i]);
  return sum;
}

} // namespace

Status check_accumulator(const Graph& graph,
                         const Node& node,
                         const Tensor& codes,
                         const qdq::Grid& x,
                         const std::optional<Tensor>& int_bias) {
  const auto [low, high] = *x.code_range();
  const int64_t reach = std::max(std::abs(low - x.one_zero()), std::abs(high - x.one_zero()));
  const int64_t channels = codes.dim(0);
  const int64_t depth = channels ? codes.count() / channels : 0;
  const auto row_sum = [&]<class T>(std::span<const T> all, int64_t n) {
    return sum_of_magnitudes(
        all.subspan(static_cast<size_t>(n * depth), static_cast<size_t>(depth)));
  };
  for (int64_t n = 0; n < channels; ++n) {
    int64_t bound = reach * (codes.type() == DType::kInt8 ? row_sum(codes.data<int8_t>(), n)
                                                          : row_sum(codes.data<int16_t>(), n));
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

namespace {

/// Along the axis whose neighbours lie beside each other in the source, and the last axis of the
/// target, whose neighbours lie `source_step` elements apart in the source: both sides read and
/// write whole cache lines.
template <size_t kWidth>
void turn_plane(const std::byte* source,
                int64_t source_step,
                int64_t rows,
                int64_t columns,
                std::byte* target,
                int64_t target_step) {
  constexpr int64_t kTile = 32;
  for (int64_t r = 0; r < rows; r += kTile)
    for (int64_t c = 0; c < columns; c += kTile)
      for (int64_t i = r; i < std::min(rows, r + kTile); ++i) {
        const std::byte* from = source + (i + c * source_step) * static_cast<int64_t>(kWidth);
        std::byte* to = target + (i * target_step + c) * static_cast<int64_t>(kWidth);
        for (int64_t j = c; j < std::min(columns, c + kTile); ++j) {
          std::memcpy(to, from, kWidth);
          from += source_step * static_cast<int64_t>(kWidth);
          to += kWidth;
        }
      }
}

} // namespace

Tensor permuted(const Tensor& t, std::span<const int64_t> perm) {
  const size_t rank = perm.size();
  Shape shape(rank);
  std::vector<int64_t> strides(rank, 1), from(rank), to(rank, 1);
  for (size_t i = rank; i-- > 1;)
    strides[i - 1] = strides[i] * t.shape()[i];
  size_t beside = 0; // the axis of the target that is the last one of the source
  for (size_t i = 0; i < rank; ++i) {
    shape[i] = t.shape()[static_cast<size_t>(perm[i])];
    from[i] = strides[static_cast<size_t>(perm[i])];
    if (perm[i] + 1 == static_cast<int64_t>(rank)) beside = i;
  }
  for (size_t i = rank; i-- > 1;)
    to[i - 1] = to[i] * shape[i];
  Tensor out = Tensor::zeros(t.type(), shape).value();
  if (t.count() == 0 || rank == 0) {
    std::copy(t.bytes().begin(), t.bytes().end(), out.mutable_bytes().begin());
    return out;
  }
  const int64_t width = bits(t.type()) / 8;
  const std::byte* source = t.bytes().data();
  std::byte* target = out.mutable_bytes().data();
  const size_t last = rank - 1;
  const int64_t rows = beside == last ? 1 : shape[beside], columns = shape[last];
  const auto turn = width == 1   ? turn_plane<1>
                    : width == 2 ? turn_plane<2>
                    : width == 4 ? turn_plane<4>
                    : width == 8 ? turn_plane<8>
                                 : turn_plane<16>;
  std::vector<int64_t> index(rank, 0);
  for (int64_t plane = t.count() / (rows * columns); plane > 0; --plane) {
    int64_t source_at = 0, target_at = 0;
    for (size_t a = 0; a < rank; ++a) {
      source_at += index[a] * from[a];
      target_at += index[a] * to[a];
    }
    if (beside == last)
      std::copy_n(source + source_at * width, columns * width, target + target_at * width);
    else
      turn(source + source_at * width, from[last], rows, columns, target + target_at * width,
           to[beside]);
    for (size_t a = last; a-- > 0;) {
      if (a == beside) continue;
      if (++index[a] < shape[a]) break;
      index[a] = 0;
    }
  }
  t.page_out(); // of a mapped file: what comes is read from the copy
  return out;
}

} // namespace octet::lowering
