// SPDX-License-Identifier: Apache-2.0
// GroupQueryAttention (com.microsoft 1). Attention of the newest S steps to all steps so far, where
// query heads share key heads in equal groups. q: [B, S, H * D], k, v: [B, S, Hk * D], or q alone
// with the columns of all three; past_key?, past_value?: [B, Hk, P, D], of which row b holds as
// many steps as seqlens_k[b] + 1 - S says (none in a prompt, where S is total_sequence_length);
// cos, sin: [steps, R / 2] (do_rotary); position_ids?: [B, S]; attention_bias?: [B or 1, H or 1, S,
// keys] by the place of the key; head_sink?: [H]; q_norm_weight?, k_norm_weight?: [D]. Query i sees
// the keys up to its own place (causal), and of these the last local_window_size. Outputs y: [B, S,
// H * D], and the keys and values as [B, Hk, max(P, total_sequence_length), D], zero behind the
// newest. Quantized caches, sliding caches and the scores as an output are refused.
#include <algorithm>
#include <limits>

#include "core/format.h"
#include "ops/definitions.h"
#include "ops/microsoft/heads.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/normalization.h"

namespace octet::ms::op_GroupQueryAttention {
namespace {

enum Place : size_t {
  kQuery,
  kKey,
  kValue,
  kPastKey,
  kPastValue,
  kLengths,
  kTotal,
  kCos,
  kSin,
  kPositions,
  kAdded,
  kSink,
  kKeyScale,
  kValueScale,
  kQueryGain,
  kKeyGain
};

struct Attrs {
  int64_t heads = 0, kv_heads = 0, window = -1;
  bool causal = true, rotary = false;
};

Result<Attrs> parse(const Node& node) {
  const Attrs a{.heads = node.attr_int("num_heads", 0),
                .kv_heads = node.attr_int("kv_num_heads", 0),
                .window = node.attr_int("local_window_size", -1),
                .causal = node.attr_int("causal", 1) != 0,
                .rotary = node.attr_int("do_rotary", 0) != 0};
  constexpr int64_t kMost = int64_t{1} << 20;
  if (a.heads < 1 || a.kv_heads < 1 || a.heads > kMost || a.heads % a.kv_heads != 0)
    return error("{} query heads for {} key heads; make them divide", a.heads, a.kv_heads);
  if (a.window != -1 && (a.window < 1 || !a.causal))
    return error("local_window_size is {}; use -1, or a positive number of a causal mask",
                 a.window);
  for (const char* kind : {"k_quant_type", "v_quant_type"})
    if (node.attr_string(kind, "NONE") != "NONE")
      return error(ErrorCode::kUnsupported, "{}: caches of codes are not evaluated", kind);
  for (const char* option : {"sliding_window_cache", "qk_output"})
    if (node.attr_int(option, 0) != 0)
      return error(ErrorCode::kUnsupported, "{} is not evaluated; leave it out", option);
  return a;
}

Status check_inputs(const InferContext& c, const Attrs& a) {
  OCTET_TRY(check_count(c, 7, 16));
  for (const size_t i : {kQuery, kLengths, kTotal})
    OCTET_TRY(check_present(c, i));
  for (const size_t i : {kQuery, kKey, kValue, kPastKey, kPastValue, kCos, kSin, kAdded, kSink,
                         kQueryGain, kKeyGain})
    OCTET_TRY(check_optional(c, i, kFloatTypes));
  for (const size_t i : {kLengths, kTotal})
    OCTET_TRY(check_input(c, i, TypeSet{DType::kInt32}));
  OCTET_TRY(check_optional(c, kPositions, kInt64Type));
  for (const size_t i : {kQuery, kKey, kValue})
    OCTET_TRY(check_rank(c, i, 3, 3));
  for (const size_t i : {kPastKey, kPastValue, kAdded})
    OCTET_TRY(check_rank(c, i, 4, 4));
  for (const size_t i : {kCos, kSin, kPositions})
    OCTET_TRY(check_rank(c, i, 2, 2));
  OCTET_TRY(check_rank(c, kLengths, 1, 2));
  OCTET_TRY(check_scalar(c, kTotal));
  OCTET_TRY(check_vector(c, kSink, Dim(a.heads), "head_sink and num_heads"));
  const std::pair<size_t, size_t> pairs[] = {
      {kKey, kValue}, {kPastKey, kPastValue}, {kCos, kSin}, {kQueryGain, kKeyGain}};
  for (const auto& [one, other] : pairs)
    if (c.has(one) != c.has(other))
      return error("inputs {} and {} go together; give both or none", one, other);
  if (a.rotary && !c.has(kCos))
    return Error("do_rotary without cos_cache and sin_cache; give them");
  if (c.has(kKeyScale) || c.has(kValueScale))
    return error(ErrorCode::kUnsupported, "caches of codes are not evaluated");
  return ok_status();
}

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  const Attrs a = OCTET_TRY(parse(c.node));
  OCTET_TRY(check_inputs(c, a));
  const DType type = c.input(kQuery).type.type;
  TypeInfo y, kept;
  y.type = kept.type = type;
  y.shape = unknown_dims(3);
  kept.shape = unknown_dims(4);
  if (!c.input(kQuery).type.has_rank()) return std::vector<OutputInfo>{y, kept, kept};
  const auto& q = *c.input(kQuery).type.shape;
  const int64_t parts = c.has(kKey) ? a.heads : a.heads + 2 * a.kv_heads;
  if (q[2].is_constant() && q[2].value() % parts != 0)
    return error("{} columns of queries in {} heads; make them divide", q[2].value(), parts);
  const Dim size = q[2] / Dim(parts);
  for (const size_t i : {kKey, kValue})
    if (c.has(i) && c.input(i).type.has_rank()) {
      const auto& s = *c.input(i).type.shape;
      OCTET_TRY(merge_dims(s[0], q[0], "batches of queries, keys and values"));
      OCTET_TRY(merge_dims(s[1], q[1], "steps of queries, keys and values"));
      OCTET_TRY(merge_dims(s[2], Dim(a.kv_heads) * size, "columns of keys and values"));
    }
  Dim steps = Dim::unknown(), past(0);
  for (const size_t i : {kPastKey, kPastValue})
    if (c.has(i)) {
      past = Dim::unknown();
      if (!c.input(i).type.has_rank()) continue;
      const auto& s = *c.input(i).type.shape;
      OCTET_TRY(merge_dims(s[0], q[0], "batches of the past and of queries"));
      OCTET_TRY(merge_dims(s[1], Dim(a.kv_heads), "heads of the past and kv_num_heads"));
      OCTET_TRY(merge_dims(s[3], size, "head sizes of the past and of queries"));
      past = s[2];
    }
  const Tensor* total = c.input(kTotal).constant;
  if (total != nullptr && past.is_constant())
    steps = Dim(std::max(past.value(), static_cast<int64_t>(total->at(0))));
  for (const size_t i : {kQueryGain, kKeyGain})
    OCTET_TRY(check_vector(c, i, size, "elements of the gain and the size of a head"));
  y.shape = std::vector<Dim>{q[0], q[1], Dim(a.heads) * size};
  kept.shape = std::vector<Dim>{q[0], Dim(a.kv_heads), steps, size};
  return std::vector<OutputInfo>{y, kept, kept};
}

/// How many steps of the past count in each row.
struct Lengths {
  bool prompt = false;
  int64_t total = 0; ///< the most steps of a row
  std::vector<int64_t> past, all;
};

Result<Lengths> lengths_of(const EvalContext& c, int64_t batch, int64_t steps) {
  Lengths out;
  out.total = OCTET_TRY(c.inputs[kTotal].to_ints())[0];
  out.prompt = steps == out.total;
  const auto last = OCTET_TRY(c.inputs[kLengths].to_ints());
  if (static_cast<int64_t>(last.size()) != batch)
    return error("{} elements of seqlens_k for {} rows; give one for each", last.size(), batch);
  const int64_t kept = c.has(kPastKey) ? c.inputs[kPastKey].dim(2) : 0;
  for (const int64_t index : last) {
    const int64_t all = index + 1, past = out.prompt ? 0 : all - steps;
    if (all < 1 || all > out.total || past < 0 || past > kept)
      return error("a row has {} steps, of which {} are new, with a past of {} and "
                   "total_sequence_length {}; make them fit",
                   all, steps, kept, out.total);
    out.all.push_back(all);
    out.past.push_back(past);
  }
  return out;
}

void normalize(Heads& x, std::span<const double> gain, double epsilon) {
  for (int64_t at = 0; at < x.count(); at += x.size) {
    const auto line = std::span(x.values).subspan(static_cast<size_t>(at), gain.size());
    standardize_rms(line, epsilon);
    for (size_t i = 0; i < gain.size(); ++i)
      line[i] *= gain[i];
  }
}

/// The place of each new step. In a prompt the first of position_ids says where all rows begin.
Result<Tensor> positions(const EvalContext& c, const Lengths& lengths, int64_t steps) {
  const auto batch = static_cast<int64_t>(lengths.all.size());
  Tensor out = OCTET_TRY(Tensor::zeros(DType::kInt64, {batch, steps}));
  std::vector<int64_t> given;
  if (c.has(kPositions)) {
    if (c.inputs[kPositions].shape() != out.shape())
      return error("position_ids has shape {}; give {}", to_string(c.inputs[kPositions].shape()),
                   to_string(out.shape()));
    given = OCTET_TRY(c.inputs[kPositions].to_ints());
  }
  const auto to = out.mutable_data<int64_t>();
  for (int64_t i = 0; i < out.count(); ++i) {
    const auto b = static_cast<size_t>(i / steps);
    const int64_t s = i % steps;
    int64_t& place = to[static_cast<size_t>(i)];
    place = lengths.past[b] + s;
    if (!given.empty())
      place = lengths.prompt ? wrap_add(given[0], s) : given[static_cast<size_t>(i)];
  }
  return out;
}

/// x with its places, rounded to `type` as ONNX Runtime's is.
Result<Heads> rotated(const EvalContext& c, const Heads& x, const Tensor& places) {
  Node node = c.node;
  node.set("interleaved", node.attr_int("rotary_interleaved", 0));
  node.set("rotary_embedding_dim", 2 * c.inputs[kCos].dim(1));
  const Tensor values = OCTET_TRY(x.tensor(c.inputs[kQuery].type()));
  constexpr int64_t kVersion = 23;
  const auto y = OCTET_TRY(onnx::op_RotaryEmbedding::facets.eval.fn(
      {.node = node,
       .version = kVersion,
       .inputs = {values, c.inputs[kCos], c.inputs[kSin], places},
       .run_body = {},
       .seed = 0}));
  return heads_of(y[0]);
}

/// The past steps of each row that count and the new ones behind them.
Result<Heads>
cached(const EvalContext& c, size_t past_input, const Lengths& lengths, const Heads& x) {
  Heads past{x.batch, x.heads, 0, x.size, {}};
  if (c.has(past_input)) past = OCTET_TRY(heads_of(c.inputs[past_input]));
  const int64_t steps = std::max(past.steps, lengths.total);
  const Tensor zeros = OCTET_TRY(Tensor::zeros(DType::kFloat32, {x.batch, x.heads, steps, x.size}));
  Heads out = OCTET_TRY(heads_of(zeros));
  for (int64_t b = 0; b < x.batch; ++b)
    for (int64_t h = 0; h < x.heads; ++h) {
      const int64_t before = lengths.past[static_cast<size_t>(b)];
      if (before > 0) std::copy_n(past.at(b, h, 0), before * x.size, out.at(b, h, 0));
      std::copy_n(x.at(b, h, 0), x.steps * x.size, out.at(b, h, before));
    }
  return out;
}

struct Parts {
  Heads q, k, v;
};
Result<Parts> split(const EvalContext& c, const Attrs& a) {
  const Tensor& q = c.inputs[kQuery];
  const bool packed = !c.has(kKey);
  const int64_t size = q.dim(2) / (packed ? a.heads + 2 * a.kv_heads : a.heads);
  const Tensor &k = packed ? q : c.inputs[kKey], &v = packed ? q : c.inputs[kValue];
  const int64_t k_begin = packed ? a.heads * size : 0;
  const int64_t v_begin = packed ? k_begin + a.kv_heads * size : 0;
  return Parts{OCTET_TRY(heads_of_columns(q, 0, a.heads, size)),
               OCTET_TRY(heads_of_columns(k, k_begin, a.kv_heads, size)),
               OCTET_TRY(heads_of_columns(v, v_begin, a.kv_heads, size))};
}

/// The attention bias at (b, h, i, j); 0 where there is none.
class Added {
 public:
  static Result<Added> make(const EvalContext& c, const Heads& q, int64_t keys) {
    Added out;
    if (!c.has(kAdded)) return out;
    const Tensor& bias = c.inputs[kAdded];
    out.shape_ = bias.shape();
    const bool fits = (out.shape_[0] == 1 || out.shape_[0] == q.batch) &&
                      (out.shape_[1] == 1 || out.shape_[1] == q.heads) &&
                      out.shape_[2] == q.steps && out.shape_[3] >= keys;
    if (!fits)
      return error("an attention bias of shape {} does not fit scores {}", to_string(bias.shape()),
                   to_string(Shape{q.batch, q.heads, q.steps, keys}));
    out.values_ = OCTET_TRY(bias.to_doubles());
    return out;
  }
  double operator()(int64_t b, int64_t h, int64_t i, int64_t j) const {
    if (shape_.empty()) return 0;
    const int64_t row = (shape_[0] == 1 ? 0 : b) * shape_[1] + (shape_[1] == 1 ? 0 : h);
    return values_[static_cast<size_t>((row * shape_[2] + i) * shape_[3] + j)];
  }

 private:
  Shape shape_;
  std::vector<double> values_;
};

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  const auto outputs = OCTET_TRY(infer_values(infer, c));
  const Attrs a = OCTET_TRY(parse(c.node));
  auto [q, k, v] = OCTET_TRY(split(c, a));
  const Lengths lengths = OCTET_TRY(lengths_of(c, q.batch, q.steps));
  if (c.has(kQueryGain)) {
    const double epsilon = c.node.attr_float("qk_norm_epsilon", 1e-6F);
    normalize(q, OCTET_TRY(c.inputs[kQueryGain].to_doubles()), epsilon);
    normalize(k, OCTET_TRY(c.inputs[kKeyGain].to_doubles()), epsilon);
  }
  if (a.rotary) {
    const Tensor places = OCTET_TRY(positions(c, lengths, q.steps));
    q = OCTET_TRY(rotated(c, q, places));
    k = OCTET_TRY(rotated(c, k, places));
  }
  k = OCTET_TRY(cached(c, kPastKey, lengths, k));
  v = OCTET_TRY(cached(c, kPastValue, lengths, v));
  const Added added = OCTET_TRY(Added::make(c, q, lengths.total));
  HeadAttention attention;
  attention.scale = c.node.attr_float("scale", 0);
  attention.softcap = c.node.attr_float("softcap", 0);
  if (c.has(kSink))
    attention.sinks = OCTET_TRY(c.inputs[kSink].to_doubles());
  else if (c.node.attr_int("smooth_softmax", 0) == 1)
    attention.sinks.assign(static_cast<size_t>(a.heads), 0.0);
  const auto term = [&](int64_t b, int64_t h, int64_t i, int64_t j) {
    const auto row = static_cast<size_t>(b);
    const int64_t place = lengths.past[row] + i;
    const bool counts =
        j < lengths.all[row] && (!a.causal || j <= place) && (a.window < 0 || j > place - a.window);
    return counts ? added(b, h, i, j) : -std::numeric_limits<double>::infinity();
  };
  const auto y = attend_heads(attention, q, k, v, term);
  const DType type = c.inputs[kQuery].type();
  return std::vector<Tensor>{OCTET_TRY(rounded(type, OCTET_TRY(shape_of(outputs[0])), y)),
                             OCTET_TRY(k.tensor(type)), OCTET_TRY(v.tensor(type))};
}

Role roles(const Node&, size_t input) {
  return input <= kPastValue || input == kAdded     ? Role::kData
         : input == kQueryGain || input == kKeyGain ? Role::kGain
                                                    : Role::kConstant;
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = roles,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.products = true, .optional_outputs = 0b110},
};

} // namespace octet::ms::op_GroupQueryAttention
