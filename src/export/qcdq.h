// SPDX-License-Identifier: Apache-2.0
// The form that Brevitas and FINN exchange: a Clip on the codes states their bits.
#pragma once

#include <vector>

#include "octet/export.h"

namespace octet {

/// Types must have been inferred.
std::vector<ExportNote> write_qcdq(Graph& graph);

} // namespace octet
