// SPDX-License-Identifier: Apache-2.0
// A program of core/numerics/program.h as a step.
#pragma once

#include <vector>

#include "ops/native/qmap.h"
#include "runtime/kernels/map.h"
#include "runtime/steps/call.h"

namespace octet::runtime {

/// A program, and which inputs of a node it is of.
struct Programmed {
  numerics::Program program;
  std::vector<size_t> inputs;
  std::vector<kernels::MapFormat> formats; ///< of each input, or none: all are floats
  kernels::MapFormat y;
};

kernels::MapFormat format_of(const native::MapGrid& grid);

Choice map_step(Programmed made, Isa isa);

} // namespace octet::runtime
