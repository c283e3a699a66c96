// SPDX-License-Identifier: Apache-2.0
// The accuracy that a lock keeps.
#pragma once

#include <optional>
#include <string>

#include "cli/command.h"

#include "octet/dataset.h"
#include "octet/lock.h"

namespace octet::cli {

/// Of the native executor on the first `limit` examples; nothing for data without labels.
Result<std::optional<LockedAccuracy>> locked_accuracy(const Graph& graph,
                                                      const Dataset& data,
                                                      const std::string& spec,
                                                      int64_t limit,
                                                      const Common& common);

/// `87.72 % (87.06 to 88.35) of 10000 examples`.
std::string text_of(const LockedAccuracy& accuracy);

} // namespace octet::cli
