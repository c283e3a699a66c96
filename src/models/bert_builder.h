// SPDX-License-Identifier: Apache-2.0
// What the builder of BERT's graph asks for, one parameter after the other. Whoever answers decides
// where weights come from: random numbers, a file, another graph.
#pragma once

#include <functional>
#include <string>

#include "octet/bert.h"

namespace octet {

enum class BertInit { kNormal, kZero, kOne };

struct BertParameter {
  std::string name; ///< as a BERT with a head has it: `bert.embeddings.LayerNorm.weight`
  Shape shape;      ///< in the graph
  BertInit init;
  bool turned; ///< stored [in, out] in the graph and [out, in] elsewhere
};
/// A f32 tensor of the shape asked for.
using BertSource = std::function<Result<Tensor>(const BertParameter& parameter)>;

/// Errors: options out of range, and whatever the source says.
Result<Graph> build_bert(const BertOptions& options, const BertSource& source);

/// The value before training, a function of (seed, name, shape).
Result<Tensor> initial_bert_parameter(const BertOptions& options, const BertParameter& parameter);

/// [rows, columns] to [columns, rows].
Result<Tensor> turned_matrix(const Tensor& matrix);

} // namespace octet
