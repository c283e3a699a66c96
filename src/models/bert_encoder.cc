// SPDX-License-Identifier: Apache-2.0
// BERT's embeddings and encoder. Attention is written as TensorRT fuses it: the scale on the
// queries rather than on the product, the keys turned before the product, a finite additive mask,
// softmax, product; see docs/targets.md.
//
//   x ─ query + b ─ * 1/sqrt(d) ─ [N, h, S, d] ─┐
//   x ─ key + b ──────────────── [N, h, d, S] ─ MatMul ─ + mask ─ Softmax ─ MatMul ─ [N, S, H]
//   x ─ value + b ─────────────────────────────────────────── [N, h, S, d] ─┘
#include <cmath>

#include "models/bert_graph.h"

namespace octet {
namespace {

/// Makes a weight exactly 0 in float, and fits half precision.
constexpr float kMasked = -10000;

} // namespace

Result<ValueId> BertGraph::embeddings() {
  const std::string prefix = "bert.embeddings.";
  const int64_t h = options_.hidden;
  words_ = OCTET_TRY(parameter(prefix + "word_embeddings.weight", {options_.vocabulary, h},
                               BertInit::kNormal, false));
  ValueId x = emit("Gather", {words_, ids_}, "embeddings/word");
  if (options_.type_vocabulary > 0) {
    const ValueId table =
        OCTET_TRY(parameter(prefix + "token_type_embeddings.weight", {options_.type_vocabulary, h},
                            BertInit::kNormal, false));
    const ValueId index = types_.valid() ? types_ : shared("type_0", Tensor::scalar(int64_t{0}));
    x = emit("Add", {x, emit("Gather", {table, index}, "embeddings/token_type")},
             "embeddings/add_token_type");
  }
  const ValueId table = OCTET_TRY(parameter(prefix + "position_embeddings.weight",
                                            {options_.positions, h}, BertInit::kNormal, false));
  x = emit("Add", {x, emit("Gather", {table, position_ids()}, "embeddings/position")},
           "embeddings/add_position");
  x = OCTET_TRY(layer_norm("embeddings/norm", prefix + "LayerNorm", x));
  return dropout("embeddings/dropout", x, options_.dropout);
}

/// 0, 1, ... S - 1.
ValueId BertGraph::position_ids() {
  Attributes part;
  part["start"].value = int64_t{1};
  part["end"].value = int64_t{2};
  const ValueId length = graph_.emit("Shape", {ids_}, part, "embeddings/length");
  const ValueId limit = emit("Squeeze", {length, ints("axis_0", {0})}, "embeddings/limit");
  const ValueId zero = shared("zero", Tensor::scalar(int64_t{0}));
  const ValueId step = shared("step", Tensor::scalar(int64_t{1}));
  return emit("Range", {zero, limit, step}, "embeddings/positions");
}

/// [N, 1, 1, S]: 0 where there is a token, very negative where there is padding.
ValueId BertGraph::mask() {
  const ValueId real =
      emit("Cast", {attention_mask_}, "mask/cast", "to", static_cast<int64_t>(DType::kFloat32));
  const ValueId absent = emit("Sub", {scalar("one", 1), real}, "mask/absent");
  const ValueId added = emit("Mul", {absent, scalar("masked", kMasked)}, "mask/scaled");
  return emit("Unsqueeze", {added, ints("axes_1_2", {1, 2})}, "mask");
}

Result<ValueId> BertGraph::heads_of(
    const std::string& node, const std::string& name, ValueId x, bool keys, bool scaled) {
  const int64_t h = options_.hidden, size = h / options_.heads;
  ValueId y = OCTET_TRY(product(node, name, x, h, h));
  if (scaled) {
    const auto factor = static_cast<float>(1 / std::sqrt(static_cast<double>(size)));
    y = emit("Mul", {y, scalar("attention_scale", factor)}, node + "/scale");
  }
  y = emit("Reshape", {y, ints("split_heads", {0, 0, options_.heads, size})}, node + "/split");
  Attributes turn;
  turn["perm"].value = keys ? std::vector<int64_t>{0, 2, 3, 1} : std::vector<int64_t>{0, 2, 1, 3};
  return graph_.emit("Transpose", {y}, turn, node + "/turn");
}

Result<ValueId> BertGraph::attention(const std::string& node, const std::string& name, ValueId x) {
  const ValueId q = OCTET_TRY(heads_of(node + "/query", name + ".self.query", x, false, true));
  const ValueId k = OCTET_TRY(heads_of(node + "/key", name + ".self.key", x, true, false));
  const ValueId v = OCTET_TRY(heads_of(node + "/value", name + ".self.value", x, false, false));
  const ValueId scores = emit("MatMul", {q, k}, node + "/scores");
  const ValueId masked = emit("Add", {scores, mask_}, node + "/mask");
  ValueId weights = emit("Softmax", {masked}, node + "/softmax", "axis", -1);
  weights = dropout(node + "/dropout", weights, options_.attention_dropout);
  ValueId y = emit("MatMul", {weights, v}, node + "/context");
  Attributes turn;
  turn["perm"].value = std::vector<int64_t>{0, 2, 1, 3};
  y = graph_.emit("Transpose", {y}, turn, node + "/turn");
  return emit("Reshape", {y, ints("merge_heads", {0, 0, options_.hidden})}, node + "/merge");
}

Result<ValueId> BertGraph::layer(int64_t index, ValueId x) {
  const std::string node = "encoder." + std::to_string(index);
  const std::string name = "bert.encoder.layer." + std::to_string(index);
  const int64_t h = options_.hidden, wide = options_.intermediate;
  ValueId y = OCTET_TRY(attention(node + "/attention", name + ".attention", x));
  y = OCTET_TRY(product(node + "/attention/output", name + ".attention.output.dense", y, h, h));
  y = dropout(node + "/attention/output/dropout", y, options_.dropout);
  y = emit("Add", {y, x}, node + "/attention/residual");
  x = OCTET_TRY(layer_norm(node + "/attention/norm", name + ".attention.output.LayerNorm", y));
  y = OCTET_TRY(product(node + "/intermediate", name + ".intermediate.dense", x, h, wide));
  y = activate(node + "/activation", y);
  y = OCTET_TRY(product(node + "/output", name + ".output.dense", y, wide, h));
  y = dropout(node + "/output/dropout", y, options_.dropout);
  y = emit("Add", {y, x}, node + "/residual");
  return layer_norm(node + "/norm", name + ".output.LayerNorm", y);
}

} // namespace octet
