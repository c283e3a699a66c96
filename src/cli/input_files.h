// SPDX-License-Identifier: Apache-2.0
// Inputs of a model from npy and npz files.
#pragma once

#include <string>
#include <vector>

#include "octet/graph.h"

namespace CLI {
class App;
}

namespace octet::cli {

/// `--input NAME=FILE.npy` and `--inputs FILE.npz`.
void add_input_options(CLI::App& app, std::vector<std::string>& files, std::string& archive);

/// One tensor for each graph input, in their order, converted (and said so on stderr) where the
/// file has another type. Errors: an item without a name, a file that cannot be read, a name that
/// the graph does not have, an input that is missing.
Result<std::vector<Tensor>>
read_inputs(const Graph& graph, const std::vector<std::string>& files, const std::string& archive);

} // namespace octet::cli
