// SPDX-License-Identifier: Apache-2.0
#include "ops/only_batch.h"

#include <map>
#include <string>

#include "graph/sizes.h"
#include "ops/declared.h"
#include "ops/infer.h"

namespace octet {
namespace {

/// Whether the operators take inputs of so many examples, other open sizes left open.
bool takes(const Graph& graph, int64_t batch) {
  Graph sized = graph;
  std::map<std::string, int64_t> symbols;
  for (const ValueId id : sized.inputs()) {
    const TypeInfo& type = sized.value(id).type;
    if (!type.has_rank() || type.rank() == 0) continue;
    if (const auto name = type.shape->front().symbol_name()) symbols[*name] = batch;
  }
  for (const ValueId id : sized.inputs()) {
    TypeInfo type = sized.value(id).type;
    if (!type.has_rank() || type.rank() == 0) continue;
    if (!type.shape->front().is_known()) type.shape->front() = batch;
    for (Dim& dim : *type.shape)
      if (const auto size = dim.evaluate(symbols); size.ok()) dim = *size;
    sized.set_type(id, type);
  }
  forget_declared_shapes(sized);
  return infer_types(sized).ok();
}

} // namespace

std::optional<int64_t> only_batch(const Graph& graph) {
  constexpr int64_t kSeveral = 7; // no size that a model is likely to hold
  if (const auto batch = fixed_batch(graph)) return batch;
  if (takes(graph, kSeveral) || !takes(graph, 1)) return std::nullopt;
  return 1;
}

} // namespace octet
