// SPDX-License-Identifier: Apache-2.0
// Options from a TOML file: `--config FILE` stands for the flags that its keys name.
#pragma once

#include <string>
#include <vector>

#include "octet/result.h"

namespace CLI {
class App;
} // namespace CLI

namespace octet::cli {

/// The subcommand that the arguments name and how many of them that took.
const CLI::App*
find_command(const std::vector<std::string>& arguments, const CLI::App& app, size_t& words);

/// The arguments with the file's options put before the flags that were given, so that flags win.
/// Keys are long option names (`batch = 64`, `hidden-relu = true`), at the top or in a table named
/// after the command (`[quantize]`, `[train.cnn]`). Errors: an unreadable file, broken TOML with
/// its line, an unknown key with the nearest match.
Result<std::vector<std::string>> expand_config(const std::vector<std::string>& arguments,
                                               const CLI::App& app);

} // namespace octet::cli
