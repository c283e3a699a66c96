// SPDX-License-Identifier: Apache-2.0
// octet.native LSTM, GRU and RNN with constant weights.
#include "runtime/kernels/recur.h"

#include "core/format.h"
#include "core/threads.h"
#include "graph/domains.h"
#include "ops/native/recurrent.h"
#include "runtime/packs.h"
#include "runtime/steps/call.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

/// What the weights of all directions are packed into, and what they borrow from.
struct RecurState {
  RecurrentAttrs attrs;
  const RecurrentKind* kind = nullptr;
  kernels::Cell cell = kernels::Cell::kLstm;
  Isa isa = Isa::kScalar;
  int64_t hidden = 0;
  bool x_is_sums = false;            ///< W is left out
  Tensor bias;                       ///< [D, G H], or empty
  std::vector<float> candidate_bias; ///< [D, H] of kGruLinear, or empty
  Tensor peepholes;                  ///< [D, 3 H], or empty
  std::vector<kernels::RecurWeights> directions;
};

kernels::Cell cell_of(const Node& node) {
  if (node.op_type == "LSTM") return kernels::Cell::kLstm;
  if (node.op_type == "RNN") return kernels::Cell::kRnn;
  return node.attr_int("linear_before_reset", 0) != 0 ? kernels::Cell::kGruLinear
                                                      : kernels::Cell::kGru;
}

/// Rb of the candidates of kGruLinear, [D, H], by B [D, 2 G H].
std::vector<float> recurrent_candidates(const Tensor& b, int64_t hidden) {
  const auto values = b.data<float>();
  std::vector<float> out;
  for (int64_t end = b.dim(1); end <= b.count(); end += b.dim(1))
    out.insert(out.end(), values.begin() + end - hidden, values.begin() + end);
  return out;
}

/// Without W (null) the sums of x are given.
void pack(const PrepareContext& c, RecurState& s, const Tensor* w, const Tensor& r) {
  const int64_t rows = s.kind->gates * s.hidden;
  const bool gru = s.kind->gates == 3;
  const int64_t straight = gru ? rows - s.hidden : rows; // of R: what is summed over h itself
  const auto part = [&](size_t input, std::string name, const float* from, ProductForm form) {
    return share_of(packed(c, input, std::move(name), form, [&] {
      return kernels::pack_float(
          {.w = from, .k_stride = 1, .n_stride = form.k, .n = form.n, .k = form.k}, s.isa);
    }));
  };
  for (int64_t d = 0; d < r.dim(0); ++d) {
    kernels::RecurWeights& one = s.directions[static_cast<size_t>(d)];
    const float* recurrent = r.data<float>().data() + d * rows * s.hidden;
    if (w != nullptr)
      one.input = part(1, fmt::format("recur input {}", d),
                       w->data<float>().data() + d * rows * w->dim(2), {rows, w->dim(2)});
    one.recurrent = part(2, fmt::format("recur state {}", d), recurrent, {straight, s.hidden});
    if (gru)
      one.candidate = part(2, fmt::format("recur candidate {}", d), recurrent + straight * s.hidden,
                           {s.hidden, s.hidden});
    if (!s.bias.empty()) one.bias = s.bias.data<float>().data() + d * rows;
    if (!s.candidate_bias.empty()) one.candidate_bias = s.candidate_bias.data() + d * s.hidden;
    if (!s.peepholes.empty()) one.peepholes = s.peepholes.data<float>().data() + d * 3 * s.hidden;
    one.backwards = s.attrs.backwards(d);
  }
}

/// Slots of the operands that a run reads and writes; -1: omitted.
struct RecurSlots {
  int32_t x, lengths, initial_h, initial_c, y, y_h, y_c;
};

class RecurStep final : public Step {
 public:
  RecurStep(std::shared_ptr<const RecurState> state, const kernels::RecurArgs& args, RecurSlots at)
      : state_(std::move(state)), args_(args), at_(at) {}

  size_t shared_bytes() const override { return kernels::shared_bytes(args_); }

  Result<StepEnd> run(Slots slots, std::byte* shared, ParallelFor& parallel) const override {
    const auto place = [&]<typename T>(T*& to, int32_t id) {
      if (id >= 0) to = at<T>(slots, id);
    };
    kernels::RecurArgs a = args_;
    a.shared = shared;
    place(a.x, at_.x);
    place(a.lengths, at_.lengths);
    place(a.initial_h, at_.initial_h);
    place(a.initial_c, at_.initial_c);
    place(a.y, at_.y);
    place(a.y_h, at_.y_h);
    place(a.y_c, at_.y_c);
    for (int64_t n = 0; a.lengths != nullptr && n < a.batch; ++n)
      if (a.lengths[n] < 0 || a.lengths[n] > a.steps)
        return error("sequence_lens holds {}; X has {} steps", a.lengths[n], a.steps);
    kernels::recur(a, parallel);
    return StepEnd::kDone;
  }

 private:
  std::shared_ptr<const RecurState> state_;
  kernels::RecurArgs args_;
  RecurSlots at_;
};

Result<std::unique_ptr<Step>> bind_recur(const std::shared_ptr<const RecurState>& state,
                                         std::span<const Operand> in,
                                         std::span<const Operand> out) {
  const RecurrentSizes s = recurrent_sizes(state->attrs, *state->kind, in[0].shape, state->hidden);
  const auto slot = [](std::span<const Operand> operands, size_t i) {
    return i < operands.size() ? operands[i].id : -1;
  };
  const bool has_cell = state->kind->has_cell;
  kernels::RecurArgs a;
  a.cell = state->cell;
  a.steps = s.steps;
  a.batch = s.batch;
  a.inputs = s.inputs;
  a.x_is_sums = state->x_is_sums;
  a.hidden = s.hidden;
  a.directions = state->directions;
  a.x_step = s.x_at(1, 0);
  a.x_row = s.x_at(0, 1);
  a.state_direction = s.state_at(1, 0);
  a.state_row = s.state_at(0, 1);
  a.y_step = s.y_at(1, 0, 0);
  a.y_direction = s.y_at(0, 1, 0);
  a.y_row = s.y_at(0, 0, 1);
  a.isa = state->isa;
  const RecurSlots at = {.x = in[0].id,
                         .lengths = slot(in, 4),
                         .initial_h = slot(in, 5),
                         .initial_c = has_cell ? slot(in, 6) : -1,
                         .y = slot(out, 0),
                         .y_h = slot(out, 1),
                         .y_c = slot(out, 2)};
  return std::unique_ptr<Step>(std::make_unique<RecurStep>(state, a, at));
}

} // namespace

Choice prepare_recur(const PrepareContext& c) {
  const auto is_constant = [&](size_t input) { return c.constant(input) != nullptr; };
  const std::string why = native::why_not_native(c.graph, c.node, is_constant);
  if (!why.empty()) return Choice::refuse("recur: " + why);
  if (c.node.domain != kNative) return Choice::refuse("recur: it was not lowered");
  auto state = std::make_shared<RecurState>();
  state->kind = native::recurrent_kind(c.node.op_type);
  auto attrs = parse_recurrent(c.node, *state->kind);
  auto rules = native::cell_rules(c.node, *state->kind);
  if (!attrs.ok() || !rules.ok()) return Choice::refuse("recur: an attribute does not fit");
  const Tensor r = c.constant(2)->aligned();
  std::optional<Tensor> w;
  if (c.node.input(1).valid()) w = c.constant(1)->aligned();
  if (r.count() == 0 || (w && w->count() == 0))
    return Choice::refuse("recur: the weights are empty");
  state->attrs = std::move(*attrs);
  state->cell = cell_of(c.node);
  state->isa = c.isa;
  state->hidden = r.dim(2);
  state->x_is_sums = !w;
  if (c.node.input(3).valid()) {
    const Tensor b = c.constant(3)->aligned();
    state->bias = native::input_biases(b, *state->kind, native::candidate_bias(c.node));
    if (state->cell == kernels::Cell::kGruLinear)
      state->candidate_bias = recurrent_candidates(b, state->hidden);
  }
  if (state->kind->has_cell && c.node.input(7).valid()) state->peepholes = c.constant(7)->aligned();
  for (const numerics::CellRules& one : *rules) {
    state->directions.emplace_back();
    state->directions.back().rules = one;
  }
  pack(c, *state, w ? &*w : nullptr, r);
  auto bind = [state](std::span<const Operand> in, std::span<const Operand> out) {
    return bind_recur(state, in, out);
  };
  return {.prepared = bind_with(std::move(bind)),
          .name = fmt::format("recur {}", isa_name(c.isa)),
          .packed = w ? std::vector<size_t>{1, 2} : std::vector<size_t>{2}};
}

} // namespace octet::runtime
