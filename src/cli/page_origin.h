// SPDX-License-Identifier: Apache-2.0
// How and where a report was made.
#pragma once

#include <string>

#include "cli/command.h"

namespace octet::cli {

/// The command, octet's version, the processor with its instruction set, threads and the date.
std::string page_origin(const Common& common);

} // namespace octet::cli
