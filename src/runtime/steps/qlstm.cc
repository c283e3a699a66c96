// SPDX-License-Identifier: Apache-2.0
// octet.native QLSTM: the recurrent loop on codes of h.
#include "core/format.h"
#include "core/threads.h"
#include "ops/native/recurrent.h"
#include "runtime/kernels/recur.h"
#include "runtime/steps/call.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

constexpr int64_t kGates = 4;
/// Input places.
constexpr size_t kSecondSums = 3, kInitialH = 4, kInitialC = 5, kPeepholes = 6;

/// What the weights of all directions are packed into, and what they borrow from.
struct State {
  int64_t hidden = 0;
  Tensor scales;    ///< [D, 4 H]
  Tensor peepholes; ///< [D, 3 H], or empty
  std::vector<kernels::RecurWeights> directions;
};

Result<std::unique_ptr<Step>> bind_qlstm(const std::shared_ptr<const State>& state,
                                         Isa isa,
                                         std::span<const Operand> in,
                                         std::span<const Operand> out) {
  const auto slot = [](std::span<const Operand> operands, size_t i) {
    return i < operands.size() ? operands[i].id : -1;
  };
  kernels::RecurArgs args;
  args.on_codes = true;
  args.steps = in[0].shape[0];
  args.batch = in[0].shape[1];
  args.hidden = state->hidden;
  args.directions = state->directions;
  args.state_row = args.y_row = args.hidden;
  args.state_direction = args.y_direction = args.batch * args.hidden;
  args.y_step = std::ssize(args.directions) * args.y_direction;
  args.isa = isa;
  const auto run = [state, args, first = in[0].id, second = slot(in, kSecondSums),
                    h = slot(in, kInitialH), c = slot(in, kInitialC), y = slot(out, 0),
                    y_h = slot(out, 1),
                    y_c = slot(out, 2)](Slots slots, std::byte* shared, ParallelFor& parallel) {
    const auto place = [&]<typename T>(T*& to, int32_t id) {
      if (id >= 0) to = at<T>(slots, id);
    };
    kernels::RecurArgs a = args;
    a.shared = shared;
    place(a.given[0], first);
    place(a.given[1], second);
    place(a.initial_h, h);
    place(a.initial_c, c);
    place(a.y, y);
    place(a.y_h, y_h);
    place(a.y_c, y_c);
    kernels::recur(a, parallel);
  };
  return call_step(kernels::shared_bytes(args), run);
}

} // namespace

Choice prepare_qlstm(const PrepareContext& c) {
  if (!c.constant(1) || !c.constant(2))
    return Choice::refuse("recur: the weights are not constant");
  if (c.node.input(kPeepholes).valid() && !c.constant(kPeepholes))
    return Choice::refuse("recur: P is not constant");
  const Tensor r = c.constant(1)->aligned();
  if (r.count() == 0) return Choice::refuse("recur: the weights are empty");
  auto state = std::make_shared<State>();
  state->hidden = r.dim(2);
  if (state->hidden > kernels::kMaxK)
    return Choice::refuse(
        fmt::format("recur: {} units, the limit is {}", state->hidden, kernels::kMaxK));
  const auto attrs = parse_recurrent(c.node, lstm_kind());
  const auto rules = native::cell_rules(c.node, lstm_kind());
  if (!attrs.ok() || !rules.ok()) return Choice::refuse("recur: an attribute does not fit");
  state->scales = c.constant(2)->aligned();
  if (c.node.input(kPeepholes).valid()) state->peepholes = c.constant(kPeepholes)->aligned();
  const int64_t rows = kGates * state->hidden;
  state->directions.resize(rules->size());
  for (int64_t d = 0; d < std::ssize(*rules); ++d) {
    kernels::RecurWeights& one = state->directions[static_cast<size_t>(d)];
    one.rules = (*rules)[static_cast<size_t>(d)];
    one.backwards = attrs->backwards(d);
    one.codes.weights =
        kernels::pack_weights(r.data<int8_t>().data() + d * rows * state->hidden, state->hidden,
                              rows, state->hidden, {.is_signed = false, .lo = 0, .hi = 255}, c.isa);
    one.codes.scales = state->scales.data<float>().data() + d * rows;
    if (!state->peepholes.empty())
      one.peepholes = state->peepholes.data<float>().data() + d * 3 * state->hidden;
  }
  auto bind = [state, isa = c.isa](std::span<const Operand> in, std::span<const Operand> out) {
    return bind_qlstm(state, isa, in, out);
  };
  return {.prepared = bind_with(std::move(bind)),
          .name = fmt::format("recur {}", isa_name(c.isa)),
          .packed = {1}};
}

} // namespace octet::runtime
