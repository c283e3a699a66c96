// SPDX-License-Identifier: Apache-2.0
// BERT as a graph: the encoder of Devlin et al., arXiv 1810.04805, of any size, with the heads that
// it is trained and used with. DistilBERT (arXiv 1910.01108) is the same graph without token types.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "octet/graph.h"

namespace octet {

enum class BertFamily { kBert, kDistilBert }; ///< names of weights and form of the pooler elsewhere
enum class BertActivation { kGelu, kGeluTanh, kRelu }; ///< kGelu: with erf
enum class BertHead {
  kNone,           ///< outputs last_hidden_state f32[N, S, H] and, with a pooler, pooler_output
  kClassification, ///< output logits f32[N, C]
  kMaskedLm,       ///< output mlm_logits f32[N, S, V], or [M, V] with gather_masked
  kPretraining,    ///< mlm_logits as above and nsp_logits f32[N, 2]
};

struct BertOptions {
  BertFamily family = BertFamily::kBert;
  int64_t vocabulary = 30522;
  int64_t positions = 512;     ///< longest sequence
  int64_t type_vocabulary = 2; ///< 0: no token types at all
  int64_t hidden = 128;
  int64_t layers = 2;
  int64_t heads = 2;          ///< divides hidden
  int64_t intermediate = 512; ///< width between the two feed-forward products
  BertActivation activation = BertActivation::kGelu;
  double dropout = 0.1;           ///< of embeddings and results of blocks; 0: no such nodes
  double attention_dropout = 0.1; ///< of attention weights
  double classifier_dropout = -1; ///< before the classifier; below 0: as `dropout`
  double layer_norm_epsilon = 1e-12;
  double initializer_range = 0.02; ///< standard deviation before the cut at two of them
  bool pooler = true;              ///< with kNone only; the other heads know what they need

  BertHead head = BertHead::kNone;
  std::vector<std::string> labels = {"0", "1"}; ///< kClassification: a name for each class
  /// An input masked_positions i64[M] (row * S + column) picks what the masked head computes.
  bool gather_masked = false;

  bool token_type_input = true;     ///< false: every token has type 0, one input less
  DType index_type = DType::kInt64; ///< of the inputs; kInt32 is the other choice
  int64_t opset = 17;               ///< 20 and later write GELU as one operator
  uint64_t seed = 0;                ///< of the initial weights
};

/// Layers, width, heads and intermediate of a known size: tiny 2/128, mini 4/256, small 4/512,
/// medium 8/512, base 12/768, large 24/1024 (arXiv 1908.08962). Errors: another name.
Result<BertOptions> bert_size(std::string_view name);

/// Inputs `input_ids`, `attention_mask` (1: token, 0: padding) and, with token types,
/// `token_type_ids`, each i64[N, S]. Nodes are named `embeddings/...`, `encoder.0/attention/query`,
/// `pooler`, `classifier`, `masked_lm/...`; constants have Hugging Face's names
/// (`bert.encoder.layer.0.attention.self.query.weight`), those of products with [N, S, H] stored
/// [in, out]. Weights are normal, cut at two deviations, from Philox by (seed, name); biases 0,
/// gains 1. The options are kept in the graph's metadata. Errors: sizes that do not fit.
Result<Graph> make_bert(const BertOptions& options);

/// The options that a graph was built with, as its metadata has them. Errors: no such graph.
Result<BertOptions> bert_options(const Graph& graph);

struct BertTransfer {
  Graph graph;
  std::vector<std::string> fresh; ///< parameters that `from` did not have: initial values
};
/// Builds `options` with the weights of `from` where it has a constant of that name. A classifier
/// of another number of classes counts as one that `from` does not have. Errors: a shape that
/// differs elsewhere, weights that are not f32.
Result<BertTransfer> rebuild_bert(const Graph& from, const BertOptions& options);

} // namespace octet
