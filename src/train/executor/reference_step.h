// SPDX-License-Identifier: Apache-2.0
// One node run by the reference evaluator inside a LibTorch program.
#pragma once

#include "train/ops/mapping.h"

#include "octet/graph.h"

namespace octet::train {

/// An Apply that evaluates `node` of `graph`, its subgraphs included, on the CPU. Inputs of the
/// call: the node's inputs, then its captures. `graph` must outlive it. Errors: no definition.
Result<Apply> reference_step(const Graph& graph, NodeId node);

} // namespace octet::train
