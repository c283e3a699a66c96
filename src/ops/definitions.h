// SPDX-License-Identifier: Apache-2.0
// The definition of every operator: octet::<domain>::op_<Name>::def, as ops.def lists them.
#pragma once

#include "ops/op.h"

#define OP(domain, name, file)                                                                     \
  namespace octet::domain::op_##name {                                                             \
    extern const OpDef def;                                                                        \
  }
#include "ops/ops.def"
#undef OP
