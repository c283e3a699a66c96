// SPDX-License-Identifier: Apache-2.0
// Models in their textual form.
#pragma once

#include <cstdint>
#include <string>

#include "octet/graph.h"

namespace octet::cli {

/// Whether a file begins as the textual form does.
bool is_text_model(const std::string& path);

/// The graph of a text, with its types; constants that it leaves to be drawn are drawn by the seed.
/// `weights` has those that it leaves out, or is null. Errors: declared types that are not what is
/// computed.
Result<Graph> open_text_model(const std::string& path, const Graph* weights, uint64_t seed);

} // namespace octet::cli
