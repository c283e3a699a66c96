// SPDX-License-Identifier: Apache-2.0
#include "cli/list_option.h"

#include <CLI/CLI.hpp>

namespace octet::cli {

void add_list_option(CLI::App& app,
                     const char* name,
                     std::vector<std::string>& to,
                     const char* text,
                     char separator) {
  app.add_option(name, to, text)
      ->delimiter(separator)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
}

} // namespace octet::cli
