// SPDX-License-Identifier: Apache-2.0
// What stands on BERT's encoder: pooler and classifier, masked language model (the word embeddings
// are its output weights), next sentence.
#include "models/bert_graph.h"

namespace octet {

Status BertGraph::add_head(ValueId x) {
  const Dim n = Dim::symbol("N"), s = Dim::symbol("S"), m = Dim::symbol("M");
  switch (options_.head) {
  case BertHead::kNone: {
    output(x, "last_hidden_state", {n, s, options_.hidden});
    if (options_.pooler) output(OCTET_TRY(pooled(x)), "pooler_output", {n, options_.hidden});
    break;
  }
  case BertHead::kClassification: {
    const double ratio =
        options_.classifier_dropout < 0 ? options_.dropout : options_.classifier_dropout;
    ValueId y = dropout("classifier/dropout", OCTET_TRY(pooled(x)), ratio);
    const auto classes = static_cast<int64_t>(options_.labels.size());
    y = OCTET_TRY(gemm("classifier", "classifier", y, options_.hidden, classes));
    output(y, "logits", {n, classes});
    break;
  }
  case BertHead::kMaskedLm:
  case BertHead::kPretraining: {
    std::vector<Dim> shape{n, s, options_.vocabulary};
    if (options_.gather_masked) shape = {m, options_.vocabulary};
    output(OCTET_TRY(masked_lm(x)), "mlm_logits", std::move(shape));
    if (options_.head == BertHead::kMaskedLm) break;
    const ValueId first = OCTET_TRY(pooled(x));
    const ValueId y =
        OCTET_TRY(gemm("next_sentence", "cls.seq_relationship", first, options_.hidden, 2));
    output(y, "nsp_logits", {n, 2});
    break;
  }
  }
  return ok_status();
}

/// The first token's row through one more layer: [N, H].
Result<ValueId> BertGraph::pooled(ValueId x) {
  const ValueId first =
      emit("Gather", {x, shared("zero", Tensor::scalar(int64_t{0}))}, "pooler/first", "axis", 1);
  const ValueId y =
      OCTET_TRY(gemm("pooler", "bert.pooler.dense", first, options_.hidden, options_.hidden));
  return emit(options_.family == BertFamily::kBert ? "Tanh" : "Relu", {y}, "pooler/activation");
}

Result<ValueId> BertGraph::masked_lm(ValueId x) {
  const int64_t h = options_.hidden, v = options_.vocabulary;
  ValueId y = emit("Reshape", {x, ints("as_rows", {-1, h})}, "masked_lm/rows");
  if (options_.gather_masked)
    y = emit("Gather", {y, masked_positions_}, "masked_lm/masked", "axis", 0);
  const std::string name = "cls.predictions.transform.";
  y = OCTET_TRY(gemm("masked_lm/transform", name + "dense", y, h, h));
  y = activate("masked_lm/activation", y);
  y = OCTET_TRY(layer_norm("masked_lm/norm", name + "LayerNorm", y));
  const ValueId bias = OCTET_TRY(parameter("cls.predictions.bias", {v}, BertInit::kZero, false));
  y = emit("Gemm", {y, words_, bias}, "masked_lm/decoder", "transB", 1);
  if (options_.gather_masked) return y;
  const ValueId batch = emit("Shape", {ids_}, "masked_lm/batch");
  const ValueId shape =
      emit("Concat", {batch, ints("vocabulary", {v})}, "masked_lm/shape", "axis", 0);
  return emit("Reshape", {y, shape}, "masked_lm/logits");
}

} // namespace octet
