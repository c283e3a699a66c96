// SPDX-License-Identifier: Apache-2.0
// octet.native LSTM (1), f32, gates i, o, f, c: ONNX's with the sums and functions of
// ops/native/recurrent.h. A peephole goes on with its gate's chain.
#include "ops/native/epilogue.h"
#include "ops/native/recurrent.h"

namespace octet::native::op_LSTM {
namespace {

void step(CellStep& s) {
  const int64_t n = s.hidden;
  std::vector<float> sums = s.sums;
  for (int64_t i = 0; i < 4 * n; ++i)
    sums[static_cast<size_t>(i)] = s.chain(sums[static_cast<size_t>(i)], i / n, i % n, s.h);
  for (int64_t i = 0; i < n; ++i) {
    float peepholes[3] = {};
    for (int64_t k = 0; s.peepholes != nullptr && k < 3; ++k)
      peepholes[k] = s.peepholes[k * n + i];
    const float* gate = sums.data() + i;
    numerics::lstm_cell(*s.rules,
                        {.i = gate[0],
                         .o = gate[n],
                         .f = gate[2 * n],
                         .c = gate[3 * n],
                         .peepholes = s.peepholes == nullptr ? nullptr : peepholes},
                        s.c[i], s.h[i]);
  }
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  return infer_cells(ctx, lstm_kind());
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return eval_cells(infer, ctx, lstm_kind(), step);
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = recurrent_roles,
    .quant = is_lowered,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.products = true},
};

} // namespace octet::native::op_LSTM
