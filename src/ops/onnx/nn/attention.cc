// SPDX-License-Identifier: Apache-2.0
// Attention (opset 23 to 25). y = softmax(softcap(scale * q @ k^T) + bias) @ v for each head; the
// bias is the mask, causality, the window and the padding together. Query heads share key heads in
// equal groups. q: [B, Hq, S, D] or [B, S, Hq * D]; k, v likewise with kv heads; past_key,
// past_value: [B, Hkv, P, D]. Outputs y like q, present_key and present_value [B, Hkv, P + S, D],
// the scores [B, Hq, S, P + S] at the stage that qk_matmul_output_mode names. A row whose bias is
// -infinity everywhere gives zeros.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/format.h"
#include "ops/shared/movement.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_Attention {
namespace {

constexpr double kMasked = -std::numeric_limits<double>::infinity();

struct AttentionAttrs {
  int64_t q_heads, kv_heads, mode, left, right;
  bool causal;
  double softcap;
  std::optional<double> scale;
};

AttentionAttrs parse(const Node& node) {
  AttentionAttrs a{node.attr_int("q_num_heads", 0),
                   node.attr_int("kv_num_heads", 0),
                   node.attr_int("qk_matmul_output_mode", 0),
                   node.attr_int("left_window_size", -1),
                   node.attr_int("right_window_size", -1),
                   node.attr_int("is_causal", 0) != 0,
                   node.attr_float("softcap", 0),
                   std::nullopt};
  if (node.has_attr("scale")) a.scale = node.attr_float("scale", 1);
  return a;
}

/// [B, H, S, D] of q, k or v.
Result<std::vector<Dim>> by_heads(const TypeInfo& x, int64_t heads, size_t input) {
  const auto& s = *x.shape;
  if (s.size() == 4) return s;
  if (heads < 1) return error("input {} has rank 3; give q_num_heads and kv_num_heads", input);
  if (s[2].is_constant() && s[2].value() % heads != 0)
    return error("input {}: {} columns in {} heads; make them divide", input, s[2].value(), heads);
  return std::vector<Dim>{s[0], Dim(heads), s[1], s[2] / Dim(heads)};
}

Status check_inputs(const InferContext& c) {
  OCTET_TRY(check_count(c, 3, 7));
  for (size_t i : {0, 1, 2, 4, 5})
    OCTET_TRY(check_optional(c, i, kFloatTypes));
  for (size_t i : {0, 1, 2})
    OCTET_TRY(check_present(c, i));
  OCTET_TRY(check_rank(c, 0, 3, 4));
  OCTET_TRY(check_rank(c, 3, 1, 4));
  OCTET_TRY(check_rank(c, 4, 4, 4));
  OCTET_TRY(check_rank(c, 5, 4, 4));
  OCTET_TRY(check_optional(c, 3, kNumericTypes | kBoolType));
  OCTET_TRY(check_optional(c, 6, kInt64Type));
  if (c.has(4) != c.has(5)) return Error("past_key and past_value go together; give both or none");
  if (c.has(6) && c.has(4)) return Error("nonpad_kv_seqlen beside past_key; give one of them");
  return ok_status();
}

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_inputs(c));
  const auto a = parse(c.node);
  const DType type = c.input(0).type.type;
  for (size_t i : {0, 1, 2})
    if (!c.input(i).type.has_rank()) {
      TypeInfo t;
      t.type = type;
      return std::vector<OutputInfo>{t, t, t, t};
    }
  const int64_t rank = c.input(0).type.rank();
  OCTET_TRY(check_rank(c, 1, rank, rank));
  OCTET_TRY(check_rank(c, 2, rank, rank));
  const auto q = OCTET_TRY(by_heads(c.input(0).type, a.q_heads, 0));
  auto k = OCTET_TRY(by_heads(c.input(1).type, a.kv_heads, 1));
  auto v = OCTET_TRY(by_heads(c.input(2).type, a.kv_heads, 2));
  for (size_t i : {0, 1, 2}) // batch, heads, positions
    OCTET_TRY(merge_dims(k[i], v[i], "sizes of keys and values"));
  OCTET_TRY(merge_dims(q[0], k[0], "batches of queries and keys"));
  OCTET_TRY(merge_dims(q[3], k[3], "head sizes of queries and keys"));
  if (q[1].is_constant() && k[1].is_constant() &&
      (k[1].value() < 1 || q[1].value() % k[1].value() != 0))
    return error("{} query heads for {} key heads; make them divide", q[1].value(), k[1].value());
  if (c.has(4)) {
    const auto& past = c.input(4).type;
    k[2] = past.has_rank() ? (*past.shape)[2] + k[2] : Dim();
    v[2] = k[2];
  }
  std::vector<Dim> y = {q[0], q[1], q[2], v[3]};
  if (rank == 3) y = {q[0], q[2], q[1] * v[3]};
  return std::vector<OutputInfo>{one(type, std::move(y))[0], one(c.input(1).type.type, k)[0],
                                 one(c.input(2).type.type, v)[0],
                                 one(type, std::vector<Dim>{q[0], q[1], q[2], k[2]})[0]};
}

/// The values of q, k or v in the order [B, H, S, D], behind those of a past tensor.
Result<std::vector<double>> load(const Tensor& x, int64_t heads, const Tensor& past) {
  const auto own = OCTET_TRY(x.to_doubles());
  std::vector<int64_t> index;
  int64_t h = x.dim(1), s = x.dim(2), d = x.dim(3 % x.rank());
  if (x.rank() == 3) {
    h = heads;
    s = x.dim(1);
    d = x.dim(2) / heads;
    index = strided_index(Shape{x.dim(0), h, s, d}, Shape{s * h * d, d, h * d, 1});
  } else {
    index = strided_index(x.shape(), strides_of(x.shape()));
  }
  std::vector<double> before;
  if (!past.empty()) before = OCTET_TRY(past.to_doubles());
  const int64_t groups = x.dim(0) * h;
  const size_t part = groups == 0 ? 0 : before.size() / static_cast<size_t>(groups);
  std::vector<double> out;
  for (int64_t g = 0; g < groups; ++g) {
    const auto first = before.begin() + static_cast<ptrdiff_t>(static_cast<size_t>(g) * part);
    out.insert(out.end(), first, first + static_cast<ptrdiff_t>(part));
    for (int64_t i = g * s * d; i < (g + 1) * s * d; ++i)
      out.push_back(own[static_cast<size_t>(index[static_cast<size_t>(i)])]);
  }
  return out;
}

/// What is added to the scores.
class Bias {
 public:
  Bias(const AttentionAttrs& a,
       Tensor mask,
       std::vector<double> values,
       int64_t past,
       std::vector<int64_t> lengths,
       int64_t queries)
      : a_(a), mask_(std::move(mask)), values_(std::move(values)), past_(past),
        lengths_(std::move(lengths)), queries_(queries) {}

  double operator()(int64_t b, int64_t h, int64_t i, int64_t j) const {
    double bias = mask_.empty() ? 0 : masked(b, h, i, j);
    int64_t offset = past_;
    if (!lengths_.empty()) {
      const int64_t length = lengths_[static_cast<size_t>(b)];
      if (j >= length) return kMasked;
      offset = length - queries_;
    }
    const int64_t place = i + offset;
    if (a_.causal && j > place) bias = kMasked;
    if (a_.left >= 0 && j < place - a_.left) bias = kMasked;
    if (a_.right >= 0 && j > place + a_.right) bias = kMasked;
    return bias;
  }

 private:
  double masked(int64_t b, int64_t h, int64_t i, int64_t j) const {
    const int64_t at[] = {b, h, i, j};
    const Shape& shape = mask_.shape();
    if (j >= shape.back()) return kMasked; // a shorter mask hides what it does not reach
    int64_t offset = 0;
    for (size_t k = 0; k < shape.size(); ++k)
      offset = offset * shape[k] + (shape[k] == 1 ? 0 : at[4 - shape.size() + k]);
    const double v = values_[static_cast<size_t>(offset)];
    if (mask_.type() == DType::kBool) return v != 0 ? 0 : kMasked;
    return v;
  }

  const AttentionAttrs& a_;
  Tensor mask_;
  std::vector<double> values_;
  int64_t past_;
  std::vector<int64_t> lengths_;
  int64_t queries_;
};

Result<Bias>
make_bias(const EvalContext& c, const AttentionAttrs& a, std::span<const int64_t> scores) {
  Tensor mask = c.has(3) ? c.inputs[3] : Tensor();
  std::vector<double> values;
  if (!mask.empty()) {
    values = OCTET_TRY(mask.to_doubles());
    for (int64_t k = 0; k < mask.rank(); ++k) {
      const int64_t want = scores[static_cast<size_t>(4 - mask.rank() + k)];
      const bool last = k + 1 == mask.rank();
      if (mask.dim(k) != want && mask.dim(k) != 1 && !(last && mask.dim(k) < want))
        return error("a mask of shape {} for scores of shape {}; make it broadcast to that",
                     to_string(mask.shape()), to_string(scores));
    }
  }
  std::vector<int64_t> lengths;
  if (c.has(6)) {
    lengths = OCTET_TRY(c.inputs[6].to_ints());
    if (static_cast<int64_t>(lengths.size()) != scores[0])
      return error("{} lengths for a batch of {}; give one for each", lengths.size(), scores[0]);
  }
  return Bias(a, std::move(mask), std::move(values), c.has(4) ? c.inputs[4].dim(2) : 0,
              std::move(lengths), scores[2]);
}

/// One row: scores in, probabilities out; `shown` keeps the stage that `mode` names.
void attend(std::vector<double>& row,
            std::span<const double> bias,
            double softcap,
            int64_t mode,
            double* shown) {
  const auto show = [&](int64_t stage) {
    if (mode == stage) std::copy(row.begin(), row.end(), shown);
  };
  show(0);
  if (softcap > 0)
    for (double& v : row)
      v = softcap * std::tanh(v / softcap);
  show(1);
  double largest = kMasked, most = kMasked;
  for (size_t j = 0; j < row.size(); ++j) {
    row[j] += bias[j];
    most = std::fmax(most, bias[j]);
    if (row[j] > largest || std::isnan(row[j])) largest = row[j];
  }
  show(2);
  double sum = 0;
  for (double& v : row)
    sum += v = std::exp(v - (largest == kMasked ? 0 : largest));
  for (double& v : row)
    v = most == kMasked ? 0 : v / (sum == 0 ? 1 : sum);
  show(3);
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  const auto outputs = OCTET_TRY(infer_values(infer, c));
  const auto a = parse(c.node);
  const Shape y_shape = OCTET_TRY(shape_of(outputs[0])), ks = OCTET_TRY(shape_of(outputs[1])),
              vs = OCTET_TRY(shape_of(outputs[2])), scores_shape = OCTET_TRY(shape_of(outputs[3]));
  const auto q = OCTET_TRY(load(c.inputs[0], a.q_heads, Tensor()));
  const auto k = OCTET_TRY(load(c.inputs[1], a.kv_heads, c.has(4) ? c.inputs[4] : Tensor()));
  const auto v = OCTET_TRY(load(c.inputs[2], a.kv_heads, c.has(5) ? c.inputs[5] : Tensor()));
  if (k.size() != static_cast<size_t>(product(ks)) || v.size() != static_cast<size_t>(product(vs)))
    return Error("past_key or past_value does not fit the keys; give [B, Hkv, P, D]");
  const auto bias = OCTET_TRY(make_bias(c, a, scores_shape));
  const int64_t batch = scores_shape[0], heads = scores_shape[1], rows = scores_shape[2],
                total = scores_shape[3], size = ks[3], v_size = vs[3], kv_heads = ks[1];
  const double scale = a.scale.value_or(1 / std::sqrt(static_cast<double>(size)));
  std::vector<double> shown(static_cast<size_t>(product(scores_shape)));
  std::vector<double> y(static_cast<size_t>(batch * heads * rows * v_size));
  std::vector<double> row(static_cast<size_t>(total)), added(row.size());
  const bool packed = c.inputs[0].rank() == 3;
  for (int64_t r = 0; r < batch * heads * rows; ++r) {
    const int64_t i = r % rows, h = r / rows % heads, b = r / rows / heads;
    const int64_t kv = b * kv_heads + h / (heads / kv_heads);
    for (int64_t j = 0; j < total; ++j) {
      double dot = 0;
      for (int64_t e = 0; e < size; ++e)
        dot += q[static_cast<size_t>(r * size + e)] *
               k[static_cast<size_t>((kv * total + j) * size + e)];
      row[static_cast<size_t>(j)] = dot * scale;
      added[static_cast<size_t>(j)] = bias(b, h, i, j);
    }
    attend(row, added, a.softcap, a.mode, shown.data() + r * total);
    double* out = y.data() + (packed ? ((b * rows + i) * heads + h) * v_size : r * v_size);
    for (int64_t j = 0; j < total; ++j)
      for (int64_t e = 0; e < v_size; ++e)
        out[e] +=
            row[static_cast<size_t>(j)] * v[static_cast<size_t>((kv * total + j) * v_size + e)];
  }
  const DType type = c.inputs[0].type();
  return std::vector<Tensor>{
      OCTET_TRY(rounded(type, y_shape, y)), OCTET_TRY(rounded(c.inputs[1].type(), ks, k)),
      OCTET_TRY(rounded(c.inputs[2].type(), vs, v)), OCTET_TRY(rounded(type, scores_shape, shown))};
}

Role roles(const Node&, size_t input) {
  return input < 3 || input == 4 || input == 5 ? Role::kData : Role::kConstant;
}

QuantTrait quant(const Node&, std::span<const InputInfo>) {
  return QuantTrait::none("its products are quantized after it is taken apart");
}

} // namespace

extern const OpFacets facets = {
    .since = 23,
    .infer = infer,
    .eval = eval,
    .roles = roles,
    .quant = quant,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.products = true, .unchanged = true},
};

} // namespace octet::onnx::op_Attention
