// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/recurrent.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "core/format.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/validate.h"

namespace octet {
namespace {

using Activation = std::function<double(double)>;

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

std::string lower_case(std::string text) {
  for (char& c : text)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// `activation` with its defaults, and how many of alpha and beta it has.
struct NamedActivation {
  RecurrentActivation activation;
  int parameters;
};
constexpr NamedActivation kRecurrentActivations[] = {
    {{"relu", 0, 0, [](double x, double, double) { return x > 0 ? x : 0; }}, 0},
    {{"tanh", 0, 0, [](double x, double, double) { return std::tanh(x); }}, 0},
    {{"sigmoid", 0, 0, [](double x, double, double) { return sigmoid(x); }}, 0},
    {{"softsign", 0, 0, [](double x, double, double) { return x / (1 + std::fabs(x)); }}, 0},
    {{"softplus", 0, 0, [](double x, double, double) { return std::log1p(std::exp(x)); }}, 0},
    {{"affine", 1, 0, [](double x, double a, double b) { return a * x + b; }}, 2},
    {{"leakyrelu", 0.01, 0, [](double x, double a, double) { return x >= 0 ? x : a * x; }}, 1},
    {{"thresholdedrelu", 1, 0, [](double x, double a, double) { return x >= a ? x : 0; }}, 1},
    {{"scaledtanh", 1, 1, [](double x, double a, double b) { return a * std::tanh(b * x); }}, 2},
    {{"hardsigmoid", 0.2, 0.5,
      [](double x, double a, double b) { return std::clamp(a * x + b, 0.0, 1.0); }},
     2},
    {{"elu", 1, 0, [](double x, double a, double) { return x >= 0 ? x : a * std::expm1(x); }}, 1},
};

Result<std::vector<RecurrentActivation>>
parse_activations(const Node& node, const RecurrentKind& kind, int64_t directions) {
  std::vector<std::string> names;
  if (const Attribute* a = node.attr("activations"))
    if (const auto* list = std::get_if<std::vector<std::string>>(&a->value)) names = *list;
  if (names.empty())
    for (int64_t d = 0; d < directions; ++d)
      names.insert(names.end(), kind.activations.begin(), kind.activations.end());
  const size_t wanted = kind.activations.size() * static_cast<size_t>(directions);
  if (names.size() != wanted)
    return error("activations names {} functions; name {}", names.size(), wanted);
  const auto alphas = node.attr_floats("activation_alpha"),
             betas = node.attr_floats("activation_beta");
  size_t alpha_at = 0, beta_at = 0;
  std::vector<RecurrentActivation> out;
  for (const std::string& name : names) {
    const NamedActivation* found = nullptr;
    for (const NamedActivation& a : kRecurrentActivations)
      if (lower_case(name) == a.activation.name) found = &a;
    if (found == nullptr) return error("activation \"{}\" is not one of ONNX's", name);
    out.push_back(found->activation);
    if (found->parameters > 0 && alpha_at < alphas.size())
      out.back().alpha = static_cast<double>(alphas[alpha_at++]);
    if (found->parameters > 1 && beta_at < betas.size())
      out.back().beta = static_cast<double>(betas[beta_at++]);
  }
  return out;
}

/// Dimension `axis` of an input, if its rank is known.
Dim dim_of(const InferContext& ctx, size_t input, size_t axis) {
  const TypeInfo& t = ctx.input(input).type;
  return t.has_rank() ? (*t.shape)[axis] : Dim::unknown();
}

/// The input's dims are these, as far as both are known.
Status check_dims(const InferContext& ctx, size_t input, std::vector<Dim> want, const char* what) {
  const TypeInfo& t = ctx.input(input).type;
  if (!ctx.has(input) || !t.has_rank()) return ok_status();
  if (t.shape->size() != want.size())
    return error("{} is {}; its rank must be {}", what, t.text(), want.size());
  for (size_t i = 0; i < want.size(); ++i)
    OCTET_TRY(merge_dims((*t.shape)[i], want[i], fmt::format("axis {} of {}", i, what)));
  return ok_status();
}

/// Everything that one run reads, in double.
struct Operands {
  RecurrentSizes sizes;
  RecurrentAttrs attrs;
  std::vector<Activation> activations; ///< with the clip in front
  std::vector<double> x, w, r, b, p;
  std::vector<int64_t> lengths;
};

Result<Operands> read_operands(const EvalContext& ctx, const RecurrentKind& kind) {
  Operands o;
  o.attrs = OCTET_TRY(parse_recurrent(ctx.node, kind));
  o.activations = recurrent_functions(o.attrs);
  o.sizes = recurrent_sizes(o.attrs, kind, ctx.inputs[0].shape(), ctx.inputs[2].dim(2));
  o.x = OCTET_TRY(ctx.inputs[0].to_doubles());
  o.w = OCTET_TRY(ctx.inputs[1].to_doubles());
  o.r = OCTET_TRY(ctx.inputs[2].to_doubles());
  o.b.resize(static_cast<size_t>(o.sizes.directions * 2 * kind.gates * o.sizes.hidden));
  if (ctx.has(3)) o.b = OCTET_TRY(ctx.inputs[3].to_doubles());
  if (kind.has_cell && ctx.has(7)) o.p = OCTET_TRY(ctx.inputs[7].to_doubles());
  o.lengths = OCTET_TRY(sequence_lengths(ctx.has(4) ? ctx.inputs[4] : Tensor{}, o.sizes));
  return o;
}

/// One sequence in one direction.
void run_sequence(const Operands& o,
                  int64_t d,
                  int64_t n,
                  const std::function<void(const RecurrentStep&)>& step,
                  std::vector<double>& y,
                  double* h,
                  double* c) {
  const RecurrentSizes& s = o.sizes;
  const int64_t rows = s.gates * s.hidden;
  std::vector<double> input(static_cast<size_t>(rows));
  const double* bias = o.b.data() + d * 2 * rows;
  RecurrentStep state;
  state.hidden = s.hidden;
  state.input = input.data();
  state.weights = o.r.data() + d * rows * s.hidden;
  state.bias = bias + rows;
  state.peepholes = o.p.empty() ? nullptr : o.p.data() + d * 3 * s.hidden;
  const size_t functions = o.activations.size() / static_cast<size_t>(s.directions);
  state.activations =
      std::span(o.activations).subspan(static_cast<size_t>(d) * functions, functions);
  state.h = h;
  state.c = c;
  const bool backwards = o.attrs.backwards(d);
  const int64_t length = o.lengths[static_cast<size_t>(n)];
  for (int64_t k = 0; k < length; ++k) {
    const int64_t t = backwards ? length - 1 - k : k;
    const double* x = o.x.data() + s.x_at(t, n);
    for (int64_t i = 0; i < rows; ++i) {
      const double* w = o.w.data() + (d * rows + i) * s.inputs;
      double sum = bias[i];
      for (int64_t j = 0; j < s.inputs; ++j)
        sum += w[j] * x[j];
      input[static_cast<size_t>(i)] = sum;
    }
    step(state);
    std::copy_n(h, s.hidden, y.data() + s.y_at(t, d, n));
  }
}

} // namespace

std::vector<std::function<double(double)>> recurrent_functions(const RecurrentAttrs& attrs) {
  std::vector<std::function<double(double)>> out;
  for (const RecurrentActivation& a : attrs.activations)
    out.emplace_back([a, clip = attrs.clip](double x) {
      return a.f(clip > 0 ? std::clamp(x, -clip, clip) : x, a.alpha, a.beta);
    });
  return out;
}

const RecurrentKind& rnn_kind() {
  static const RecurrentKind k{.gates = 1, .activations = {"Tanh"}, .has_cell = false};
  return k;
}

const RecurrentKind& gru_kind() {
  static const RecurrentKind k{.gates = 3, .activations = {"Sigmoid", "Tanh"}, .has_cell = false};
  return k;
}

const RecurrentKind& lstm_kind() {
  static const RecurrentKind k{
      .gates = 4, .activations = {"Sigmoid", "Tanh", "Tanh"}, .has_cell = true};
  return k;
}

Result<RecurrentAttrs> parse_recurrent(const Node& node, const RecurrentKind& kind) {
  using Way = RecurrentAttrs::Way;
  RecurrentAttrs a;
  const std::string direction = node.attr_string("direction", "forward");
  if (direction == "reverse")
    a.way = Way::kReverse;
  else if (direction == "bidirectional")
    a.way = Way::kBoth;
  else if (direction != "forward")
    return error("direction is \"{}\"; use forward, reverse or bidirectional", direction);
  const int64_t layout = node.attr_int("layout", 0);
  if (layout != 0 && layout != 1) return error("layout is {}; use 0 or 1", layout);
  a.batch_first = layout == 1;
  a.clip = std::max(0.0, static_cast<double>(node.attr_float("clip", 0)));
  a.activations = OCTET_TRY(parse_activations(node, kind, a.directions()));
  return a;
}

RecurrentSizes recurrent_sizes(const RecurrentAttrs& attrs,
                               const RecurrentKind& kind,
                               std::span<const int64_t> x,
                               int64_t hidden) {
  return {.steps = x[attrs.batch_first ? 1 : 0],
          .batch = x[attrs.batch_first ? 0 : 1],
          .inputs = x[2],
          .hidden = hidden,
          .directions = attrs.directions(),
          .gates = kind.gates,
          .batch_first = attrs.batch_first};
}

Result<std::vector<int64_t>> sequence_lengths(const Tensor& lengths, const RecurrentSizes& sizes) {
  std::vector<int64_t> out(static_cast<size_t>(sizes.batch), sizes.steps);
  if (!lengths.empty()) out = OCTET_TRY(integer_values(lengths));
  for (const int64_t length : out)
    if (length < 0 || length > sizes.steps)
      return error("sequence_lens holds {}; X has {} steps", length, sizes.steps);
  return out;
}

double RecurrentStep::recurrent(int64_t gate, int64_t i, const double* v) const {
  const int64_t row = gate * hidden + i;
  double sum = bias[row];
  for (int64_t k = 0; k < hidden; ++k)
    sum += weights[row * hidden + k] * v[k];
  return sum;
}

Result<std::vector<OutputInfo>>
infer_recurrent(const InferContext& ctx, const RecurrentKind& kind, bool of_sums) {
  OCTET_TRY(check_count(ctx, 3, kind.has_cell ? 8 : 6));
  for (size_t i = 0; i < 3; ++i) {
    if (of_sums && i == 1) continue;
    OCTET_TRY(check_input(ctx, i, kFloatTypes));
    OCTET_TRY(check_rank(ctx, i, 3, 3));
  }
  for (size_t i = 3; i < 8; ++i)
    OCTET_TRY(check_optional(ctx, i, i == 4 ? TypeSet{DType::kInt32} : kFloatTypes));
  const RecurrentAttrs a = OCTET_TRY(parse_recurrent(ctx.node, kind));
  const Dim directions = a.directions();
  Dim hidden = dim_of(ctx, 2, 2);
  if (ctx.node.has_attr("hidden_size"))
    hidden = OCTET_TRY(
        merge_dims(hidden, ctx.node.attr_int("hidden_size", 0), "columns of R and hidden_size"));
  if (hidden.is_constant() && (hidden.value() < 1 || hidden.value() > (int64_t{1} << 24)))
    return error("hidden_size is {}; use 1 or more", hidden.value());
  const Dim rows = hidden * Dim(kind.gates);
  const Dim steps = dim_of(ctx, 0, a.batch_first ? 1 : 0);
  const Dim batch = dim_of(ctx, 0, a.batch_first ? 0 : 1);
  const std::vector<Dim> state = a.batch_first ? std::vector<Dim>{batch, directions, hidden}
                                               : std::vector<Dim>{directions, batch, hidden};
  if (of_sums)
    OCTET_TRY(merge_dims(dim_of(ctx, 0, 2), directions * rows, "sums of all directions and R"));
  else
    OCTET_TRY(check_dims(ctx, 1, {directions, rows, dim_of(ctx, 0, 2)}, "W"));
  OCTET_TRY(check_dims(ctx, 2, {directions, rows, hidden}, "R"));
  OCTET_TRY(check_dims(ctx, 3, {directions, rows * Dim(2)}, "B"));
  OCTET_TRY(check_dims(ctx, 4, {batch}, "sequence_lens"));
  OCTET_TRY(check_dims(ctx, 5, state, "initial_h"));
  OCTET_TRY(check_dims(ctx, 6, state, "initial_c"));
  OCTET_TRY(check_dims(ctx, 7, {directions, hidden * Dim(3)}, "P"));
  const DType type = ctx.input(0).type.type;
  const std::vector<Dim> all = a.batch_first ? std::vector<Dim>{batch, steps, directions, hidden}
                                             : std::vector<Dim>{steps, directions, batch, hidden};
  std::vector<OutputInfo> out = {one(type, all)[0], one(type, state)[0]};
  if (kind.has_cell) out.push_back(one(type, state)[0]);
  return out;
}

Result<std::vector<Tensor>> eval_recurrent(InferFn* infer,
                                           const EvalContext& ctx,
                                           const RecurrentKind& kind,
                                           const std::function<void(const RecurrentStep&)>& step) {
  const auto outputs = OCTET_TRY(infer_values(infer, ctx));
  const Operands o = OCTET_TRY(read_operands(ctx, kind));
  const Shape all = OCTET_TRY(shape_of(outputs[0])), state = OCTET_TRY(shape_of(outputs[1]));
  std::vector<double> y(static_cast<size_t>(product(all)));
  std::vector<double> h(static_cast<size_t>(product(state))), c(h.size());
  if (ctx.has(5)) h = OCTET_TRY(ctx.inputs[5].to_doubles());
  if (kind.has_cell && ctx.has(6)) c = OCTET_TRY(ctx.inputs[6].to_doubles());
  for (int64_t d = 0; d < o.sizes.directions; ++d)
    for (int64_t n = 0; n < o.sizes.batch; ++n)
      run_sequence(o, d, n, step, y, h.data() + o.sizes.state_at(d, n),
                   c.data() + o.sizes.state_at(d, n));
  const DType type = ctx.inputs[0].type();
  std::vector<Tensor> results = {OCTET_TRY(rounded(type, all, y)),
                                 OCTET_TRY(rounded(type, state, h))};
  if (kind.has_cell) results.push_back(OCTET_TRY(rounded(type, state, c)));
  return results;
}

Role recurrent_roles(const Node&, size_t input) {
  switch (input) {
  case 1:
  case 2:
  case 7:
    return Role::kWeight;
  case 3:
    return Role::kBias;
  case 4:
    return Role::kConstant;
  default:
    return Role::kData;
  }
}

QuantTrait recurrent_quant(const Node&, std::span<const InputInfo>) {
  QuantTrait t;
  t.kind = QuantTrait::Kind::kWeighted;
  t.inputs = {0};
  t.weight = 1;
  t.weight_axis = 1;
  t.weight_only = false;
  return t;
}

} // namespace octet
