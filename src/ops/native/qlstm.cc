// SPDX-License-Identifier: Apache-2.0
// octet.native QLSTM (1), the recurrent part of com.microsoft's DynamicQuantizeLSTM, f32, gates i,
// o, f, c. sums: f32 [T, N, 4 H] of the first direction, what x and the biases come to; R: i8 [D,
// 4 H, H]; R_scale: f32 [D, 4 H]; sums of the second direction; initial_h and initial_c: f32 [D, N,
// H]; P: f32 [D, 3 H]. At each step h of a direction is quantized as DynamicQuantizeLinear does it,
// over the whole batch; a gate's sum is fma(float(sum of codes), its scale * R_scale, sums). What
// follows is core/numerics/cell.h. Attributes: those of LSTM. docs/native-operators.md.
#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "ops/definitions.h"
#include "ops/native/epilogue.h"
#include "ops/native/recurrent.h"

namespace octet::native::op_QLSTM {
namespace {

constexpr int64_t kGates = 4;
constexpr size_t kSums[] = {0, 3};
constexpr size_t kR = 1, kScale = 2, kInitialH = 4, kInitialC = 5, kPeepholes = 6;

Status check_shape(const InferContext& c, size_t input, const std::vector<Dim>& want) {
  if (!c.has(input) || !c.input(input).type.has_rank()) return ok_status();
  const std::vector<Dim>& shape = *c.input(input).type.shape;
  if (shape.size() != want.size())
    return error("input {} has rank {}; it needs {}", input, shape.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i)
    OCTET_TRY(merge_dims(shape[i], want[i], fmt::format("input {}", input)));
  return ok_status();
}

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  const RecurrentAttrs attrs = OCTET_TRY(parse_recurrent(c.node, lstm_kind()));
  OCTET_TRY(cell_rules(c.node, lstm_kind()));
  if (attrs.batch_first) return error("layout is 1; use 0");
  OCTET_TRY(check_count(c, 3, 7));
  for (const size_t i : {size_t{0}, kScale, kSums[1], kInitialH, kInitialC, kPeepholes})
    OCTET_TRY(check_optional(c, i, kF32));
  OCTET_TRY(check_input(c, kR, {DType::kInt8}));
  if (c.has(kSums[1]) != (attrs.directions() == 2))
    return error("{} directions need sums of so many", attrs.directions());
  const TypeInfo &sums = c.input(0).type, &r = c.input(kR).type;
  std::optional<std::vector<Dim>> y, state;
  if (sums.has_rank() && r.has_rank()) {
    if (sums.rank() != 3 || r.rank() != 3)
      return error("sums of rank {} and R of rank {}; both need 3", sums.rank(), r.rank());
    const Dim steps = (*sums.shape)[0], batch = (*sums.shape)[1], hidden = (*r.shape)[2];
    const Dim directions(attrs.directions()), gates = hidden * Dim(kGates);
    OCTET_TRY(check_shape(c, kR, {directions, gates, hidden}));
    for (const size_t i : kSums)
      OCTET_TRY(check_shape(c, i, {steps, batch, gates}));
    OCTET_TRY(check_shape(c, kScale, {directions, gates}));
    state = std::vector<Dim>{directions, batch, hidden};
    for (const size_t i : {kInitialH, kInitialC})
      OCTET_TRY(check_shape(c, i, *state));
    OCTET_TRY(check_shape(c, kPeepholes, {directions, hidden * Dim(3)}));
    y = std::vector<Dim>{steps, directions, batch, hidden};
  }
  const OutputInfo last = one(DType::kFloat32, std::move(state))[0];
  return std::vector<OutputInfo>{one(DType::kFloat32, std::move(y))[0], last, last};
}

/// What a run reads and the states that it leaves.
struct Run {
  const EvalContext& c;
  RecurrentAttrs attrs;
  std::vector<numerics::CellRules> rules;
  int64_t steps, batch, hidden;
  std::vector<int32_t> r;
  std::vector<float> scales, p, h, cell;

  /// Step k of direction d; `sums` are those of x at its time.
  Status step(int64_t d, std::span<const float> sums) {
    const int64_t gates = kGates * hidden;
    float* const states = h.data() + d * batch * hidden;
    const auto parts = OCTET_TRY(onnx::op_DynamicQuantizeLinear::facets.eval.fn(
        {.node = c.node,
         .version = 11,
         .inputs = {Tensor::of<float>(
             {batch * hidden},
             std::span<const float>(states, static_cast<size_t>(batch * hidden)))},
         .run_body = {},
         .seed = 0}));
    const auto codes = parts[0].data<uint8_t>();
    const float scale = parts[1].data<float>()[0];
    const int32_t zero = parts[2].data<uint8_t>()[0];
    std::vector<float> gate(static_cast<size_t>(gates));
    for (int64_t n = 0; n < batch; ++n) {
      for (int64_t i = 0; i < gates; ++i) {
        int64_t acc = 0;
        for (int64_t k = 0; k < hidden; ++k)
          acc += int64_t{codes[static_cast<size_t>(n * hidden + k)] - zero} *
                 r[static_cast<size_t>((d * gates + i) * hidden + k)];
        gate[static_cast<size_t>(i)] = std::fma(static_cast<float>(static_cast<int32_t>(acc)),
                                                scale * scales[static_cast<size_t>(d * gates + i)],
                                                sums[static_cast<size_t>(n * gates + i)]);
      }
      run_cells(d, n, gate);
    }
    return ok_status();
  }

  void run_cells(int64_t d, int64_t n, const std::vector<float>& gate) {
    const auto at = [&](int64_t g, int64_t i) { return gate[static_cast<size_t>(g * hidden + i)]; };
    for (int64_t i = 0; i < hidden; ++i) {
      float peepholes[3] = {};
      for (int64_t k = 0; !p.empty() && k < 3; ++k)
        peepholes[k] = p[static_cast<size_t>((d * 3 + k) * hidden + i)];
      const auto state = static_cast<size_t>((d * batch + n) * hidden + i);
      numerics::lstm_cell(rules[static_cast<size_t>(d)],
                          {.i = at(0, i),
                           .o = at(1, i),
                           .f = at(2, i),
                           .c = at(3, i),
                           .peepholes = p.empty() ? nullptr : peepholes},
                          cell[state], h[state]);
    }
  }
};

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  const auto outputs = OCTET_TRY(infer_values(infer, c));
  const auto floats = [&](size_t i) -> Result<std::vector<float>> {
    if (!c.has(i)) return std::vector<float>{};
    return c.inputs[i].to_floats();
  };
  const Shape &x = c.inputs[0].shape(), state = OCTET_TRY(shape_of(outputs[1]));
  Run run{.c = c,
          .attrs = OCTET_TRY(parse_recurrent(c.node, lstm_kind())),
          .rules = OCTET_TRY(cell_rules(c.node, lstm_kind())),
          .steps = x[0],
          .batch = x[1],
          .hidden = state[2],
          .r = OCTET_TRY(weight_codes(c.inputs[kR])),
          .scales = OCTET_TRY(floats(kScale)),
          .p = OCTET_TRY(floats(kPeepholes)),
          .h = OCTET_TRY(floats(kInitialH)),
          .cell = OCTET_TRY(floats(kInitialC))};
  run.h.resize(static_cast<size_t>(product(state)));
  run.cell.resize(run.h.size());
  Tensor y = OCTET_TRY(Tensor::zeros(DType::kFloat32, OCTET_TRY(shape_of(outputs[0]))));
  const int64_t cells = run.batch * run.hidden;
  for (int64_t d = 0; d < run.attrs.directions(); ++d) {
    const auto sums = OCTET_TRY(floats(kSums[d]));
    const auto of_step = static_cast<size_t>(kGates * cells);
    for (int64_t k = 0; k < run.steps; ++k) {
      const int64_t t = run.attrs.backwards(d) ? run.steps - 1 - k : k;
      OCTET_TRY(run.step(d, std::span(sums).subspan(static_cast<size_t>(t) * of_step, of_step)));
      std::copy_n(run.h.begin() + d * cells, cells,
                  y.mutable_data<float>().begin() + (t * run.attrs.directions() + d) * cells);
    }
  }
  return std::vector<Tensor>{std::move(y), Tensor::of<float>(state, std::span<const float>(run.h)),
                             Tensor::of<float>(state, std::span<const float>(run.cell))};
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = is_lowered,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.products = true, .on_codes = true},
};

} // namespace octet::native::op_QLSTM
