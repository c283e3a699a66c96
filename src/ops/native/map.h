// SPDX-License-Identifier: Apache-2.0
// The attributes of octet.native Map.
#pragma once

#include "core/numerics/program.h"

#include "octet/graph.h"

namespace octet::native {

/// The program of a Map with so many inputs. Errors: what parse_program finds.
Result<numerics::Program> parse_map(const Node& node, size_t inputs);

} // namespace octet::native
