// SPDX-License-Identifier: Apache-2.0
#include "cli/loss.h"

#include <algorithm>
#include <array>

#include "cli/training.h"
#include "core/format.h"
#include "core/string_util.h"
#include "graph/metadata.h"
#include <CLI/CLI.hpp>

namespace octet::cli {
namespace {

constexpr const char* kLossMetadata = "octet.loss";

constexpr std::pair<const char*, LossKind> kLosses[] = {
    {"cross-entropy", LossKind::kCrossEntropy},
    {"binary-cross-entropy", LossKind::kBinaryCrossEntropy},
    {"mean-square", LossKind::kMeanSquare},
    {"mse", LossKind::kMeanSquare}};

std::optional<LossKind> loss_called(std::string_view wanted) {
  for (const auto& [name, kind] : kLosses)
    if (wanted == name) return kind;
  return std::nullopt;
}

/// The last size of the first output; 0: not known.
int64_t columns_of(const Graph& graph) {
  if (graph.outputs().empty()) return 0;
  const TypeInfo& type = graph.value(graph.outputs()[0]).type;
  if (!type.has_rank()) return 0;
  return type.rank() < 2 ? 1 : type.shape->back().maybe_value().value_or(0);
}

} // namespace

void LossFlag::define(CLI::App& app) {
  app.add_option("--loss", loss_,
                 "cross-entropy, binary-cross-entropy or mean-square (mse); default: what the "
                 "model says, else cross-entropy");
}

bool LossFlag::is_mean_square() const {
  return loss_called(loss_) == LossKind::kMeanSquare;
}

Result<std::vector<LossTerm>> LossFlag::choose(const Graph& graph, const Dataset& data) const {
  std::optional<LossKind> kind = loss_called(loss_);
  if (!loss_.empty() && !kind) {
    std::vector<std::string> names;
    for (const auto& [name, ignored] : kLosses)
      names.emplace_back(name);
    return error("loss \"{}\" is not known{}", loss_, suggestion(loss_, names));
  }
  std::vector<LossTerm> language = language_losses(graph);
  if (!language.empty()) {
    if (kind) return error("a language model has its own losses; leave --loss out");
    return language;
  }
  if (!kind) kind = trained_loss(graph);
  if (!kind) {
    const Batch first = OCTET_TRY(data.batch(std::array<int64_t, 1>{0}));
    for (const auto& [name, tensor] : first.targets)
      if (first.labels.empty() && name == kNumberLabels)
        return error("{}: its labels are numbers, {} for each example; say what they are: --loss "
                     "mean-square to learn them, --loss binary-cross-entropy where each is a class "
                     "of its own, 0 or 1",
                     data.description(), tensor.count());
    kind = columns_of(graph) == 1 ? LossKind::kBinaryCrossEntropy : LossKind::kCrossEntropy;
  }
  return std::vector<LossTerm>{{.output = {}, .target = {}, .kind = *kind}};
}

std::optional<LossKind> trained_loss(const Graph& graph) {
  const std::string* loss = find_metadata(graph.info.metadata, kLossMetadata);
  return loss == nullptr ? std::nullopt : loss_called(*loss);
}

void set_trained_loss(Graph& graph, LossKind kind) {
  for (const auto& [name, one] : kLosses)
    if (one == kind) return set_metadata(graph.info.metadata, kLossMetadata, name);
}

} // namespace octet::cli
