// SPDX-License-Identifier: Apache-2.0
#include "ops/native/recurrent.h"

#include <algorithm>

#include "core/format.h"
#include "ops/native/chain.h"
#include "ops/native/epilogue.h"

namespace octet::native {
namespace {

using numerics::CellFunction;

std::optional<CellFunction> cell_function(const RecurrentActivation& a) {
  using Kind = CellFunction::Kind;
  const std::pair<std::string_view, Kind> kinds[] = {{"sigmoid", Kind::kSigmoid},
                                                     {"tanh", Kind::kTanh},
                                                     {"relu", Kind::kRelu},
                                                     {"hardsigmoid", Kind::kHardSigmoid}};
  for (const auto& [name, kind] : kinds)
    if (name == a.name)
      return CellFunction{kind, static_cast<float>(a.alpha), static_cast<float>(a.beta)};
  return std::nullopt;
}

/// Everything that one run reads.
struct Operands {
  RecurrentSizes sizes;
  RecurrentAttrs attrs;
  std::vector<numerics::CellRules> rules;
  std::vector<float> x, w, r, b, p;
  Tensor input_biases; ///< [D, G H], or empty
  std::vector<int64_t> lengths;
};

Result<std::vector<float>> floats(const EvalContext& ctx, size_t input) {
  if (!ctx.has(input)) return std::vector<float>{};
  return ctx.inputs[input].to_floats();
}

Result<Operands> read(const EvalContext& ctx, const RecurrentKind& kind) {
  Operands o;
  o.attrs = OCTET_TRY(parse_recurrent(ctx.node, kind));
  o.rules = OCTET_TRY(cell_rules(ctx.node, kind));
  o.sizes = recurrent_sizes(o.attrs, kind, ctx.inputs[0].shape(), ctx.inputs[2].dim(2));
  o.x = OCTET_TRY(floats(ctx, 0));
  o.w = OCTET_TRY(floats(ctx, 1));
  o.r = OCTET_TRY(floats(ctx, 2));
  o.b = OCTET_TRY(floats(ctx, 3));
  if (kind.has_cell) o.p = OCTET_TRY(floats(ctx, 7));
  if (ctx.has(3))
    o.input_biases = input_biases(ctx.inputs[3].aligned(), kind, candidate_bias(ctx.node));
  o.lengths = OCTET_TRY(sequence_lengths(ctx.has(4) ? ctx.inputs[4] : Tensor{}, o.sizes));
  return o;
}

/// The sums of x and biases, all gates of one sequence at step t.
void sum_inputs(const Operands& o, int64_t t, int64_t d, int64_t n, std::vector<float>& sums) {
  const RecurrentSizes& s = o.sizes;
  const int64_t rows = s.gates * s.hidden;
  if (o.w.empty()) {
    std::copy_n(o.x.begin() + s.x_at(t, n) + d * rows, rows, sums.begin());
    return;
  }
  const float* bias = o.b.empty() ? nullptr : o.input_biases.data<float>().data() + d * rows;
  for (int64_t i = 0; i < rows; ++i) {
    float sum = fma_chain(0, o.x.data() + s.x_at(t, n), 1, o.w.data() + (d * rows + i) * s.inputs,
                          1, s.inputs);
    if (bias != nullptr) sum += bias[i];
    sums[static_cast<size_t>(i)] = sum;
  }
}

} // namespace

Result<std::vector<numerics::CellRules>> cell_rules(const Node& node, const RecurrentKind& kind) {
  const RecurrentAttrs attrs = OCTET_TRY(parse_recurrent(node, kind));
  std::vector<numerics::CellRules> out;
  const size_t each = kind.activations.size();
  for (size_t d = 0; d < static_cast<size_t>(attrs.directions()); ++d) {
    numerics::CellRules rules;
    CellFunction* const functions[] = {&rules.f, &rules.g, &rules.h};
    for (size_t i = 0; i < each; ++i) {
      const RecurrentActivation& a = attrs.activations[d * each + i];
      const auto function = cell_function(a);
      if (!function)
        return error(ErrorCode::kUnsupported,
                     "the activation {} has no native form; Sigmoid, Tanh, Relu and HardSigmoid do",
                     a.name);
      *functions[i] = *function;
    }
    if (attrs.clip > 0) rules.clip = static_cast<float>(attrs.clip);
    rules.coupled = kind.has_cell && node.attr_int("input_forget", 0) != 0;
    out.push_back(rules);
  }
  return out;
}

const RecurrentKind* recurrent_kind(std::string_view op_type) {
  if (op_type == "LSTM") return &lstm_kind();
  if (op_type == "GRU") return &gru_kind();
  return op_type == "RNN" ? &rnn_kind() : nullptr;
}

bool is_recurrent(const Node& node) {
  return node.domain.empty() && recurrent_kind(node.op_type) != nullptr;
}

namespace {

using Named = std::pair<size_t, const char*>; ///< an input

std::string why_not_known(const Node& node,
                          const RecurrentKind& kind,
                          std::initializer_list<Named> constants,
                          const std::function<bool(size_t)>& is_constant) {
  for (const auto& [input, what] : constants)
    if (node.input(input).valid() && !is_constant(input))
      return fmt::format("{} is not constant", what);
  const auto rules = cell_rules(node, kind);
  return rules.ok() ? std::string() : rules.error().message();
}

} // namespace

std::string why_not_native(const Graph& graph,
                           const Node& node,
                           const std::function<bool(size_t)>& is_constant) {
  const RecurrentKind& kind = *recurrent_kind(node.op_type);
  const auto type = graph.value(node.input(0)).type.type;
  if (type != DType::kFloat32) return fmt::format("it computes in {}", name(type));
  return why_not_known(node, kind, {{1, "W"}, {2, "R"}, {3, "B"}, {7, "P"}}, is_constant);
}

std::string why_not_stepwise(const Node& node, const std::function<bool(size_t)>& is_constant) {
  constexpr size_t kLengths = 4;
  if (node.input(kLengths).valid()) return "its sequences have lengths of their own";
  if (node.attr_float("clip", 0) != 0) return "it clips its sums";
  if (node.attr_int("layout", 0) != 0) return "its layout is 1";
  return why_not_known(node, lstm_kind(), {{3, "B"}, {7, "P"}}, is_constant);
}

Result<std::vector<OutputInfo>> infer_cells(const InferContext& ctx, const RecurrentKind& kind) {
  for (const size_t i : {0, 1, 2, 3, 5, 6, 7})
    OCTET_TRY(check_optional(ctx, i, kF32));
  OCTET_TRY(cell_rules(ctx.node, kind));
  return infer_recurrent(ctx, kind, !ctx.has(1));
}

CandidateBias candidate_bias(const Node& node) {
  const bool linear = node.op_type == "GRU" && node.attr_int("linear_before_reset", 0) != 0;
  return linear ? CandidateBias::kApart : CandidateBias::kJoined;
}

Tensor input_biases(const Tensor& b, const RecurrentKind& kind, CandidateBias candidate) {
  const auto values = b.data<float>();
  const int64_t rows = b.dim(1) / 2;
  const int64_t joined = candidate == CandidateBias::kJoined ? rows : rows - rows / kind.gates;
  std::vector<float> out;
  for (int64_t d = 0; d < b.dim(0); ++d) {
    const float* of_w = values.data() + d * 2 * rows;
    for (int64_t i = 0; i < rows; ++i)
      out.push_back(i < joined ? of_w[i] + of_w[rows + i] : of_w[i]);
  }
  return Tensor::of<float>({b.dim(0), rows}, std::span<const float>(out));
}

float CellStep::chain(float sum, int64_t gate, int64_t i, const float* v) const {
  return fma_chain(sum, v, 1, weights + (gate * hidden + i) * hidden, 1, hidden);
}

Result<std::vector<Tensor>> eval_cells(InferFn* infer,
                                       const EvalContext& ctx,
                                       const RecurrentKind& kind,
                                       const std::function<void(CellStep&)>& step) {
  const auto outputs = OCTET_TRY(infer_values(infer, ctx));
  const Operands o = OCTET_TRY(read(ctx, kind));
  const RecurrentSizes& s = o.sizes;
  Tensor y = OCTET_TRY(Tensor::zeros(DType::kFloat32, OCTET_TRY(shape_of(outputs[0]))));
  const Shape state = OCTET_TRY(shape_of(outputs[1]));
  std::vector<float> h = OCTET_TRY(floats(ctx, 5)), c;
  if (kind.has_cell) c = OCTET_TRY(floats(ctx, 6));
  h.resize(static_cast<size_t>(product(state)));
  c.resize(h.size());
  const int64_t rows = s.gates * s.hidden;
  CellStep now;
  now.hidden = s.hidden;
  now.sums.resize(static_cast<size_t>(rows));
  for (int64_t d = 0; d < s.directions; ++d) {
    now.rules = &o.rules[static_cast<size_t>(d)];
    now.weights = o.r.data() + d * rows * s.hidden;
    now.bias = o.b.empty() ? nullptr : o.b.data() + (d * 2 + 1) * rows;
    now.peepholes = o.p.empty() ? nullptr : o.p.data() + d * 3 * s.hidden;
    for (int64_t n = 0; n < s.batch; ++n) {
      now.h = h.data() + s.state_at(d, n);
      now.c = c.data() + s.state_at(d, n);
      const int64_t length = o.lengths[static_cast<size_t>(n)];
      for (int64_t k = 0; k < length; ++k) {
        const int64_t t = o.attrs.backwards(d) ? length - 1 - k : k;
        sum_inputs(o, t, d, n, now.sums);
        step(now);
        std::copy_n(now.h, s.hidden, y.mutable_data<float>().data() + s.y_at(t, d, n));
      }
    }
  }
  std::vector<Tensor> results = {std::move(y), Tensor::of<float>(state, std::span<const float>(h))};
  if (kind.has_cell) results.push_back(Tensor::of<float>(state, std::span<const float>(c)));
  return results;
}

} // namespace octet::native
