// SPDX-License-Identifier: Apache-2.0
// What octet repair would do about the findings of check.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "octet/target.h"

namespace octet::cli {

struct Mending {
  std::string command; ///< octet repair MODEL --target T -o FILE
  size_t mended = 0;   ///< findings
  std::vector<Finding> left;
};

/// Tries the repair on a copy, without data; nothing where it mends none of the findings.
std::optional<Mending> mending(const Graph& graph,
                               const std::string& model,
                               std::string_view target,
                               const std::vector<Finding>& findings);

/// The first finding that refuses the model; null: it is accepted.
const Finding* first_error(const std::vector<Finding>& findings);

/// Whether the target takes the model of that file as it is; the error says what helps first.
Status check_as_it_is(const Graph& graph, const std::string& model, const std::string& target);

} // namespace octet::cli
