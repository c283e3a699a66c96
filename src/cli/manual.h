// SPDX-License-Identifier: Apache-2.0
// Manual pages and shell completion, made from what --help prints: the commands and options that
// CLI11 knows.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace octet::cli {

struct ManualPage {
  std::string name; ///< octet, octet-eval, octet-train-cnn
  std::string text; ///< troff, for section 1
};

/// Pages of a command and all under it.
std::vector<ManualPage> manual_pages(const CLI::App& app);

/// A script that bash sources.
std::string bash_completion(const CLI::App& app);
/// A script for a folder of zsh's fpath, named _octet.
std::string zsh_completion(const CLI::App& app);

/// `octet train cnn`.
std::string command_words(const CLI::App& app);
/// Commands under this one, in the order of its help.
std::vector<const CLI::App*> subcommands(const CLI::App& app);
/// Options with a name, in the order of its help.
std::vector<const CLI::Option*> named_options(const CLI::App& app);

} // namespace octet::cli
