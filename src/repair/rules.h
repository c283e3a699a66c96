// SPDX-License-Identifier: Apache-2.0
// The repairs, one file each. Each file starts with a drawing of what it does and says whether
// numbers change.
#pragma once

#include "repair/rule.h"

namespace octet {

#define MEND(mend, name, function) RepairFn function;
#include "targets/mends.def"
#undef MEND
/// Of a mend that is one.
RepairFn* function_of(Mend mend);

} // namespace octet
