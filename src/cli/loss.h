// SPDX-License-Identifier: Apache-2.0
// What a model learns its labels by: the option --loss, and what a trained model says of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "octet/dataset.h"
#include "octet/graph.h"
#include "octet/train_options.h"

namespace CLI {
class App;
} // namespace CLI

namespace octet::cli {

class LossFlag {
 public:
  void define(CLI::App& app);
  /// The loss that was asked for, else the one that the model was trained with, else cross-entropy
  /// of labels that are classes (of one column: binary cross-entropy). A language model has its own.
  /// Errors: no such loss, labels that are numbers and no word of what they are.
  Result<std::vector<LossTerm>> choose(const Graph& graph, const Dataset& data) const;
  /// Numbers were asked for.
  bool is_mean_square() const;

 private:
  std::string loss_;
};

/// The loss that a model was trained with, which its metadata says.
std::optional<LossKind> trained_loss(const Graph& graph);
void set_trained_loss(Graph& graph, LossKind kind);

} // namespace octet::cli
