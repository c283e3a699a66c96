// SPDX-License-Identifier: Apache-2.0
// BERT's graph while it is built: the encoder is in bert_encoder.cc, the heads in bert_heads.cc.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/bert_builder.h"

namespace octet {

class BertGraph {
 public:
  BertGraph(const BertOptions& options, const BertSource& source);
  Result<Graph> build();

 private:
  // Parts, in bert_encoder.cc.
  Result<ValueId> embeddings();
  ValueId position_ids();
  ValueId mask();
  Result<ValueId> attention(const std::string& node, const std::string& name, ValueId x);
  Result<ValueId>
  heads_of(const std::string& node, const std::string& name, ValueId x, bool keys, bool scaled);
  Result<ValueId> layer(int64_t index, ValueId x);

  // Heads, in bert_heads.cc.
  Status add_head(ValueId x);
  Result<ValueId> pooled(ValueId x);
  Result<ValueId> masked_lm(ValueId x);

  // Pieces, in bert_graph.cc.
  Result<ValueId> parameter(const std::string& name, Shape shape, BertInit init, bool turned);
  /// x @ weight + bias over the last axis, weight stored [in, out].
  Result<ValueId>
  product(const std::string& node, const std::string& name, ValueId x, int64_t in, int64_t out);
  /// The same on a matrix, weight stored [out, in].
  Result<ValueId>
  gemm(const std::string& node, const std::string& name, ValueId x, int64_t in, int64_t out);
  Result<ValueId> layer_norm(const std::string& node, const std::string& name, ValueId x);
  ValueId activate(const std::string& node, ValueId x);
  ValueId dropout(const std::string& node, ValueId x, double ratio);
  ValueId emit(const char* type, std::vector<ValueId> inputs, const std::string& node);
  ValueId emit(const char* type,
               std::vector<ValueId> inputs,
               const std::string& node,
               const char* key,
               int64_t value);
  /// A constant that is made once however often it is asked for.
  ValueId shared(const std::string& name, Tensor tensor);
  ValueId scalar(const std::string& name, float value);
  ValueId ints(const std::string& name, std::vector<int64_t> values);
  void output(ValueId value, const char* name, std::vector<Dim> shape);

  const BertOptions& options_;
  const BertSource& source_;
  Graph graph_;
  std::map<std::string, ValueId> shared_;
  ValueId ids_, attention_mask_, types_, masked_positions_, mask_, words_;
};

} // namespace octet
