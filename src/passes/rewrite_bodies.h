// SPDX-License-Identifier: Apache-2.0
// The rewrite driver over the bodies of If, Loop and Scan.
#pragma once

#include <span>
#include <vector>

#include "passes/rewrite.h"

namespace octet {

/// Runs the rules over a graph and over every body in it, each to its fixed point: the outer graph
/// first, since it says what captures are, and again when a body needs less of it than before. A
/// constant that a body captures counts as one in there and stays where it is. Steps are numbered
/// through; those in a body name the path to the node ("loop/body/add"). Errors: as rewrite's.
Result<std::vector<Step>>
rewrite_with_bodies(Graph& graph, std::span<const Rule> rules, const RewriteOptions& options = {});

} // namespace octet
