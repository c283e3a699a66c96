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

enum class Way { kForward, kReverse, kBoth };

struct RecurrentAttrs {
  Way way = Way::kForward;
  bool batch_first = false;
  std::vector<Activation> activations; ///< of all directions
  int64_t directions() const { return way == Way::kBoth ? 2 : 1; }
};

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

std::string lower_case(std::string text) {
  for (char& c : text)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// A named function of alpha and beta and what they are when they are not given.
struct NamedActivation {
  const char* name;
  int parameters;
  double alpha, beta;
  double (*f)(double x, double alpha, double beta);
};
constexpr NamedActivation kRecurrentActivations[] = {
    {"relu", 0, 0, 0, [](double x, double, double) { return x > 0 ? x : 0; }},
    {"tanh", 0, 0, 0, [](double x, double, double) { return std::tanh(x); }},
    {"sigmoid", 0, 0, 0, [](double x, double, double) { return sigmoid(x); }},
    {"softsign", 0, 0, 0, [](double x, double, double) { return x / (1 + std::fabs(x)); }},
    {"softplus", 0, 0, 0, [](double x, double, double) { return std::log1p(std::exp(x)); }},
    {"affine", 2, 1, 0, [](double x, double a, double b) { return a * x + b; }},
    {"leakyrelu", 1, 0.01, 0, [](double x, double a, double) { return x >= 0 ? x : a * x; }},
    {"thresholdedrelu", 1, 1, 0, [](double x, double a, double) { return x >= a ? x : 0; }},
    {"scaledtanh", 2, 1, 1, [](double x, double a, double b) { return a * std::tanh(b * x); }},
    {"hardsigmoid", 2, 0.2, 0.5,
     [](double x, double a, double b) { return std::clamp(a * x + b, 0.0, 1.0); }},
    {"elu", 1, 1, 0, [](double x, double a, double) { return x >= 0 ? x : a * std::expm1(x); }},
};

Result<std::vector<Activation>>
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
  const double clip = node.has_attr("clip") ? static_cast<double>(node.attr_float("clip", 0)) : 0;
  size_t alpha_at = 0, beta_at = 0;
  std::vector<Activation> out;
  for (const std::string& name : names) {
    const NamedActivation* found = nullptr;
    for (const NamedActivation& a : kRecurrentActivations)
      if (lower_case(name) == a.name) found = &a;
    if (found == nullptr) return error("activation \"{}\" is not one of ONNX's", name);
    double alpha = found->alpha, beta = found->beta;
    if (found->parameters > 0 && alpha_at < alphas.size())
      alpha = static_cast<double>(alphas[alpha_at++]);
    if (found->parameters > 1 && beta_at < betas.size())
      beta = static_cast<double>(betas[beta_at++]);
    out.emplace_back([f = found->f, alpha, beta, clip](double x) {
      return f(clip > 0 ? std::clamp(x, -clip, clip) : x, alpha, beta);
    });
  }
  return out;
}

Result<RecurrentAttrs> parse(const Node& node, const RecurrentKind& kind) {
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
  a.activations = OCTET_TRY(parse_activations(node, kind, a.directions()));
  return a;
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

struct Sizes {
  int64_t steps, batch, inputs, hidden, directions, gates;
};

/// Everything that one run reads, in double.
struct Operands {
  Sizes sizes;
  RecurrentAttrs attrs;
  std::vector<double> x, w, r, b, p;
  std::vector<int64_t> lengths;

  int64_t x_at(int64_t t, int64_t n) const {
    return (attrs.batch_first ? n * sizes.steps + t : t * sizes.batch + n) * sizes.inputs;
  }
  int64_t y_at(int64_t t, int64_t d, int64_t n) const {
    return (attrs.batch_first ? (n * sizes.steps + t) * sizes.directions + d
                              : (t * sizes.directions + d) * sizes.batch + n) *
           sizes.hidden;
  }
  int64_t state_at(int64_t d, int64_t n) const {
    return (attrs.batch_first ? n * sizes.directions + d : d * sizes.batch + n) * sizes.hidden;
  }
};

Result<Operands> read_operands(const EvalContext& ctx, const RecurrentKind& kind) {
  Operands o;
  o.attrs = OCTET_TRY(parse(ctx.node, kind));
  const Shape& x = ctx.inputs[0].shape();
  const bool batch_first = o.attrs.batch_first;
  o.sizes = {x[batch_first ? 1 : 0], x[batch_first ? 0 : 1], x[2],
             ctx.inputs[2].dim(2),   o.attrs.directions(),   kind.gates};
  o.x = OCTET_TRY(ctx.inputs[0].to_doubles());
  o.w = OCTET_TRY(ctx.inputs[1].to_doubles());
  o.r = OCTET_TRY(ctx.inputs[2].to_doubles());
  o.b.resize(static_cast<size_t>(o.sizes.directions * 2 * kind.gates * o.sizes.hidden));
  if (ctx.has(3)) o.b = OCTET_TRY(ctx.inputs[3].to_doubles());
  if (kind.has_cell && ctx.has(7)) o.p = OCTET_TRY(ctx.inputs[7].to_doubles());
  o.lengths.assign(static_cast<size_t>(o.sizes.batch), o.sizes.steps);
  if (ctx.has(4)) o.lengths = OCTET_TRY(integer_values(ctx.inputs[4]));
  for (const int64_t length : o.lengths)
    if (length < 0 || length > o.sizes.steps)
      return error("sequence_lens holds {}; X has {} steps", length, o.sizes.steps);
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
  const Sizes& s = o.sizes;
  const int64_t rows = s.gates * s.hidden;
  std::vector<double> input(static_cast<size_t>(rows));
  const double* bias = o.b.data() + d * 2 * rows;
  RecurrentStep state;
  state.hidden = s.hidden;
  state.input = input.data();
  state.weights = o.r.data() + d * rows * s.hidden;
  state.bias = bias + rows;
  state.peepholes = o.p.empty() ? nullptr : o.p.data() + d * 3 * s.hidden;
  const size_t functions = o.attrs.activations.size() / static_cast<size_t>(s.directions);
  state.activations =
      std::span(o.attrs.activations).subspan(static_cast<size_t>(d) * functions, functions);
  state.h = h;
  state.c = c;
  const bool backwards = o.attrs.way == Way::kReverse || d == 1;
  const int64_t length = o.lengths[static_cast<size_t>(n)];
  for (int64_t k = 0; k < length; ++k) {
    const int64_t t = backwards ? length - 1 - k : k;
    const double* x = o.x.data() + o.x_at(t, n);
    for (int64_t i = 0; i < rows; ++i) {
      const double* w = o.w.data() + (d * rows + i) * s.inputs;
      double sum = bias[i];
      for (int64_t j = 0; j < s.inputs; ++j)
        sum += w[j] * x[j];
      input[static_cast<size_t>(i)] = sum;
    }
    step(state);
    std::copy_n(h, s.hidden, y.data() + o.y_at(t, d, n));
  }
}

} // namespace

double RecurrentStep::recurrent(int64_t gate, int64_t i, const double* v) const {
  const int64_t row = gate * hidden + i;
  double sum = bias[row];
  for (int64_t k = 0; k < hidden; ++k)
    sum += weights[row * hidden + k] * v[k];
  return sum;
}

Result<std::vector<OutputInfo>> infer_recurrent(const InferContext& ctx,
                                                const RecurrentKind& kind) {
  OCTET_TRY(check_count(ctx, 3, kind.has_cell ? 8 : 6));
  for (size_t i = 0; i < 3; ++i) {
    OCTET_TRY(check_input(ctx, i, kFloatTypes));
    OCTET_TRY(check_rank(ctx, i, 3, 3));
  }
  for (size_t i = 3; i < 8; ++i)
    OCTET_TRY(check_optional(ctx, i, i == 4 ? TypeSet{DType::kInt32} : kFloatTypes));
  const RecurrentAttrs a = OCTET_TRY(parse(ctx.node, kind));
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
      run_sequence(o, d, n, step, y, h.data() + o.state_at(d, n), c.data() + o.state_at(d, n));
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

} // namespace octet
