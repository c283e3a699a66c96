// SPDX-License-Identifier: Apache-2.0
// What exports did, for people and for machines.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "octet/export.h"

namespace octet::cli {

/// Adds what a conversion noted, or passes its error on.
Status append_notes(std::vector<ExportNote>& to, Result<std::vector<ExportNote>> more);
/// `24 x qlinear_conv, 3 x keep_float`; with `all` a line for each, which `left`, `keep_float` and
/// `clamp` get in any case when there are few of them.
void print_export_notes(const std::vector<ExportNote>& notes, bool all);
nlohmann::ordered_json export_notes_json(const std::vector<ExportNote>& notes);

} // namespace octet::cli
