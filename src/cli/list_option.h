// SPDX-License-Identifier: Apache-2.0
// Options that may be given several times.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
} // namespace CLI

namespace octet::cli {

/// Each occurrence of `name` adds its one argument to `to`, or its parts where `separator` stands
/// in it. What follows the argument is not taken: `--input x=a.npy cnn.onnx` leaves the model.
void add_list_option(CLI::App& app,
                     const char* name,
                     std::vector<std::string>& to,
                     const char* text,
                     char separator = '\0');

} // namespace octet::cli
