// SPDX-License-Identifier: Apache-2.0
// The candidates of the kernel table, one file each in this folder.
#pragma once

#include "runtime/step.h"

namespace octet::runtime {

PrepareFn prepare_qgemm;

} // namespace octet::runtime
