// SPDX-License-Identifier: Apache-2.0
// What rewrites did, as the notes of an export.
#pragma once

#include <span>
#include <vector>

#include "passes/rewrite.h"

#include "octet/export.h"

namespace octet {

inline void add_notes(std::span<const Step> steps, std::vector<ExportNote>& notes) {
  for (const Step& step : steps)
    notes.push_back({step.rule, step.node, step.why, step.exactness == Exactness::kExact});
}

} // namespace octet
