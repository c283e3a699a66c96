// SPDX-License-Identifier: Apache-2.0
// DynamicQuantizeLSTM (com.microsoft 1): ONNX's LSTM with weights W [D, I, 4 H] and R [D, H, 4 H] of
// codes, behind P their scales and zero points [D] or [D, 4 H]. X is quantized as
// DynamicQuantizeLinear does it, over the steps that any sequence has; h at each step, over the
// whole batch. Products are exact sums times both scales, to which biases are added. As ONNX
// Runtime computes it with one thread, whose clip does not hold for c in front of h; the states of
// a sequence that has ended stay in the range.
#include <algorithm>

#include "core/format.h"
#include "core/numerics/round.h"
#include "ops/definitions.h"
#include "ops/microsoft/codes.h"
#include "ops/shared/recurrent.h"
#include "ops/shared/validate.h"

namespace octet::ms::op_DynamicQuantizeLSTM {
namespace {

constexpr int64_t kGates = 4;
constexpr size_t kWeightInputs[] = {1, 2};
constexpr size_t kFirstScale = 8; ///< W_scale, W_zero_point, R_scale, R_zero_point

/// The node and its inputs as an LSTM of ONNX reads them: W and R turned, without scales.
InferContext as_lstm(const InferContext& ctx) {
  InferContext out = ctx;
  out.inputs.resize(std::min<size_t>(out.inputs.size(), kFirstScale));
  for (const size_t i : kWeightInputs) {
    if (i >= out.inputs.size()) continue;
    TypeInfo& type = out.inputs[i].type;
    type.type = DType::kFloat32;
    out.inputs[i].constant = nullptr;
    if (type.has_rank() && type.rank() == 3) std::swap((*type.shape)[1], (*type.shape)[2]);
  }
  return out;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 12, 12));
  OCTET_TRY(check_input(ctx, 0, {DType::kFloat32}));
  for (const size_t i : kWeightInputs) {
    OCTET_TRY(check_input(ctx, i, ms::kCodeTypes));
    OCTET_TRY(check_input(ctx, kFirstScale + 2 * i - 2, {DType::kFloat32}));
    OCTET_TRY(check_input(ctx, kFirstScale + 2 * i - 1, ms::kCodeTypes));
    OCTET_TRY(check_rank(ctx, kFirstScale + 2 * i - 2, 1, 2));
    OCTET_TRY(check_rank(ctx, kFirstScale + 2 * i - 1, 1, 2));
  }
  if (ctx.node.attr_int("layout", 0) != 0) return error("layout is no attribute of it; use 0");
  auto out = OCTET_TRY(infer_recurrent(as_lstm(ctx), lstm_kind()));
  const TypeInfo& r = ctx.input(2).type;
  for (size_t i = kFirstScale; r.has_rank() && i < kFirstScale + 4; ++i) {
    const TypeInfo& type = ctx.input(i).type;
    if (!type.has_rank()) continue;
    OCTET_TRY(merge_dims(type.shape->front(), r.shape->front(), fmt::format("input {}", i)));
    if (type.rank() == 2)
      OCTET_TRY(merge_dims(type.shape->back(), r.shape->back(), fmt::format("input {}", i)));
  }
  return out;
}

/// Codes less their zero points, turned to [D, 4 H, K], and what each column of a direction is
/// scaled by.
struct Weights {
  std::vector<int32_t> codes;
  std::vector<double> scales; ///< [D, 4 H]
  int64_t k = 0, columns = 0;

  int64_t sum(int64_t d, int64_t column, const std::vector<int32_t>& x, int64_t from) const {
    constexpr int64_t kAtOnce = 16384; // products of 255 and 255 stay in 32 bits
    const int32_t *a = x.data() + from, *b = codes.data() + (d * columns + column) * k;
    int64_t out = 0;
    for (int64_t begin = 0; begin < k; begin += kAtOnce) {
      int32_t part = 0;
      for (int64_t i = begin; i < std::min(k, begin + kAtOnce); ++i)
        part += a[i] * b[i];
      out += part;
    }
    return out;
  }
};

Result<Weights> read_weights(const EvalContext& ctx, size_t input) {
  const Tensor &codes = ctx.inputs[input], &scale = ctx.inputs[kFirstScale + 2 * input - 2],
               &zero = ctx.inputs[kFirstScale + 2 * input - 1];
  Weights w;
  w.k = codes.dim(1);
  w.columns = codes.dim(2);
  const auto stored = OCTET_TRY(codes.to_ints());
  w.codes.resize(stored.size());
  const auto scales = OCTET_TRY(scale.to_doubles());
  const auto zeros = OCTET_TRY(zero.to_ints());
  const auto at = [&](const Tensor& t, int64_t d, int64_t column) {
    return static_cast<size_t>(t.rank() == 2 ? d * w.columns + column : d);
  };
  for (int64_t d = 0; d < codes.dim(0); ++d) {
    for (int64_t c = 0; c < w.columns; ++c)
      w.scales.push_back(scales[at(scale, d, c)]);
    const int64_t first = d * w.k * w.columns;
    for (int64_t i = 0; i < w.k; ++i)
      for (int64_t c = 0; c < w.columns; ++c)
        w.codes[static_cast<size_t>(first + c * w.k + i)] = static_cast<int32_t>(
            stored[static_cast<size_t>(first + i * w.columns + c)] - zeros[at(zero, d, c)]);
  }
  return w;
}

/// Codes less their zero point, and their scale.
struct Quantized {
  std::vector<int32_t> codes;
  double scale = 1;
};

Result<Quantized> quantize(const EvalContext& ctx, const Tensor& x) {
  const auto parts = OCTET_TRY(onnx::op_DynamicQuantizeLinear::facets.eval.fn(
      {.node = ctx.node, .version = 11, .inputs = {x}, .run_body = {}, .seed = 0}));
  const auto codes = OCTET_TRY(parts[0].to_ints());
  const auto zero = static_cast<int64_t>(parts[2].at(0));
  Quantized out{std::vector<int32_t>(codes.size()), parts[1].at(0)};
  std::transform(codes.begin(), codes.end(), out.codes.begin(),
                 [&](int64_t code) { return static_cast<int32_t>(code - zero); });
  return out;
}

/// One run of the operator.
struct Run {
  const EvalContext& ctx;
  RecurrentAttrs attrs;
  RecurrentSizes sizes;
  std::vector<std::function<double(double)>> activations;
  Weights w, r;
  std::vector<double> b, p, h, c;
  std::vector<int64_t> lengths;
  Quantized x;

  /// LSTM's step of one sequence given the scaled sums of its gates.
  void cell(int64_t d, int64_t n, const std::vector<double>& sums) {
    const int64_t size = sizes.hidden;
    const auto* f = activations.data() + d * 3;
    const bool coupled = ctx.node.attr_int("input_forget", 0) != 0;
    for (int64_t i = 0; i < size; ++i) {
      double& cell = c[static_cast<size_t>(sizes.state_at(d, n) + i)];
      const auto gate = [&](int64_t g, int64_t peephole) {
        const double extra =
            p.empty() ? 0 : p[static_cast<size_t>((d * 3 + peephole) * size + i)] * cell;
        return sums[static_cast<size_t>(g * size + i)] + extra;
      };
      const double in = f[0](gate(0, 0));
      const double forget = coupled ? 1 - in : f[0](gate(2, 2));
      cell = forget * cell + in * f[1](sums[static_cast<size_t>(3 * size + i)]);
      const RecurrentActivation& last = attrs.activations[static_cast<size_t>(d * 3 + 2)];
      h[static_cast<size_t>(sizes.state_at(d, n) + i)] =
          f[0](gate(1, 1)) * last.f(cell, last.alpha, last.beta);
    }
  }

  /// h of a direction, as a tensor of floats.
  Tensor states(int64_t d) const {
    std::vector<float> out;
    for (int64_t n = 0; n < sizes.batch; ++n)
      for (int64_t i = 0; i < sizes.hidden; ++i)
        out.push_back(static_cast<float>(h[static_cast<size_t>(sizes.state_at(d, n) + i)]));
    return Tensor::of<float>({sizes.batch, sizes.hidden}, std::span<const float>(out));
  }

  Status direction(int64_t d, std::vector<double>& y) {
    const int64_t longest = *std::max_element(lengths.begin(), lengths.end());
    const int64_t columns = kGates * sizes.hidden;
    std::vector<double> sums(static_cast<size_t>(columns));
    for (int64_t k = 0; k < longest; ++k) {
      const Quantized before = OCTET_TRY(quantize(ctx, states(d)));
      for (int64_t n = 0; n < sizes.batch; ++n) {
        const int64_t length = lengths[static_cast<size_t>(n)];
        if (k >= length) continue;
        const int64_t t = attrs.backwards(d) ? length - 1 - k : k;
        for (int64_t i = 0; i < columns; ++i) {
          const auto at = static_cast<size_t>(d * columns + i);
          const double of_x = static_cast<double>(w.sum(d, i, x.codes, sizes.x_at(t, n))),
                       of_h = static_cast<double>(r.sum(d, i, before.codes, n * sizes.hidden));
          double sum = of_x * x.scale * w.scales[at] + of_h * before.scale * r.scales[at];
          if (!b.empty())
            sum += b[static_cast<size_t>(d * 2 * columns + i)] +
                   b[static_cast<size_t>((d * 2 + 1) * columns + i)];
          sums[static_cast<size_t>(i)] = sum;
        }
        cell(d, n, sums);
        std::copy_n(h.begin() + sizes.state_at(d, n), sizes.hidden,
                    y.begin() + sizes.y_at(t, d, n));
      }
    }
    return ok_status();
  }
};

/// The steps of X that any sequence has.
Result<Tensor> read_steps(const Tensor& x, int64_t steps) {
  const auto values = OCTET_TRY(x.to_floats());
  const int64_t count = steps * x.dim(1) * x.dim(2);
  return Tensor::of<float>({count}, std::span(values).first(static_cast<size_t>(count)));
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const auto outputs = OCTET_TRY(infer_values(infer, ctx));
  const RecurrentAttrs attrs = OCTET_TRY(parse_recurrent(ctx.node, lstm_kind()));
  const RecurrentSizes sizes =
      recurrent_sizes(attrs, lstm_kind(), ctx.inputs[0].shape(), ctx.inputs[2].dim(1));
  const Shape all = OCTET_TRY(shape_of(outputs[0])), state = OCTET_TRY(shape_of(outputs[1]));
  const auto optional = [&](size_t i, size_t count) -> Result<std::vector<double>> {
    if (!ctx.has(i)) return std::vector<double>(count);
    return ctx.inputs[i].to_doubles();
  };
  const auto cells = static_cast<size_t>(product(state));
  Run run{.ctx = ctx,
          .attrs = attrs,
          .sizes = sizes,
          .activations = recurrent_functions(attrs),
          .w = OCTET_TRY(read_weights(ctx, 1)),
          .r = OCTET_TRY(read_weights(ctx, 2)),
          .b = OCTET_TRY(optional(3, 0)),
          .p = OCTET_TRY(optional(7, 0)),
          .h = OCTET_TRY(optional(5, cells)),
          .c = OCTET_TRY(optional(6, cells)),
          .lengths = OCTET_TRY(sequence_lengths(ctx.has(4) ? ctx.inputs[4] : Tensor{}, sizes)),
          .x = {}};
  std::vector<double> y(static_cast<size_t>(product(all)));
  if (!run.lengths.empty()) {
    const int64_t longest = *std::max_element(run.lengths.begin(), run.lengths.end());
    run.x = OCTET_TRY(quantize(ctx, OCTET_TRY(read_steps(ctx.inputs[0], longest))));
    for (int64_t d = 0; d < sizes.directions; ++d)
      OCTET_TRY(run.direction(d, y));
  }
  return std::vector<Tensor>{OCTET_TRY(rounded(DType::kFloat32, all, y)),
                             OCTET_TRY(rounded(DType::kFloat32, state, run.h)),
                             OCTET_TRY(rounded(DType::kFloat32, state, run.c))};
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = is_quantized_already,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.products = true, .on_codes = true},
};

} // namespace octet::ms::op_DynamicQuantizeLSTM
