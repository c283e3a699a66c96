// SPDX-License-Identifier: Apache-2.0
// What an instruction of a program takes, roughly: shares of work and tables are chosen by it.
#pragma once

#include "core/numerics/program.h"

namespace octet::kernels {

/// For each element, on vectors.
inline double cost_ns(numerics::MapOp op) {
  constexpr double kSimpleNs = 0.1, kFunctionNs = 0.8;
  using numerics::MapOp;
  switch (op) {
  case MapOp::kExp:
  case MapOp::kExpm1:
  case MapOp::kLog:
  case MapOp::kSin:
  case MapOp::kCos:
  case MapOp::kErf:
  case MapOp::kTanh:
  case MapOp::kSigmoid:
  case MapOp::kSilu:
  case MapOp::kSoftplus:
  case MapOp::kMish:
  case MapOp::kGelu:
  case MapOp::kGeluTanh:
  case MapOp::kElu:
    return kFunctionNs;
  default:
    return kSimpleNs;
  }
}

} // namespace octet::kernels
