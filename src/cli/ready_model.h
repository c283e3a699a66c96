// SPDX-License-Identifier: Apache-2.0
// A model of others as training takes it.
#pragma once

#include <string>

#include "cli/command.h"

#include "octet/graph.h"

namespace octet::cli {

/// Calls of local functions become nodes, a batch that the file fixes becomes free where a run shows
/// that rows do not mix, and what an export left in training mode is said as for inference, which is
/// what training sets and what is written. Says on stderr what it changed.
Status make_ready(Graph& graph, const std::string& model, const Common& common);

/// Batch norms and dropouts that a file has in training mode are said as for inference: a run of the
/// file would take the statistics of its batch, and drop.
Status leave_training_mode(Graph& graph);

} // namespace octet::cli
