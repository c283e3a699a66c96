// SPDX-License-Identifier: Apache-2.0
// The facets of every operator: octet::<domain>::op_<Name>::facets, as ops.def lists them.
#pragma once

#include "ops/op.h"

#define OP(domain, name, file)                                                                     \
  namespace octet::domain::op_##name {                                                             \
    extern const OpFacets facets;                                                                  \
  }
#include "ops/ops.def"
#undef OP
