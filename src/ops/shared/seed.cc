// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/seed.h"

#include "core/hash.h"

namespace octet {

uint64_t random_seed(const Graph& graph, const Node& node) {
  if (!node.name.empty() || !node.output(0).valid()) return hash_bytes(node.name);
  return hash_bytes(graph.value(node.output(0)).name);
}

} // namespace octet
