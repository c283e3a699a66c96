// SPDX-License-Identifier: Apache-2.0
// The part of a program that is a function of one input's codes alone, as a table of 256 floats.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/numerics/program.h"
#include "runtime/kernels/float_table.h"
#include "runtime/kernels/map.h"

namespace octet::kernels {

/// What is left of a program. Without instructions its result is input 0, which then has a table.
struct TabledProgram {
  numerics::Program program;
  /// By input: null, where the program reads the numbers that the codes stand for.
  std::vector<std::shared_ptr<const FloatTable>> tables;
};

/// Takes out what costs more than a table where it is read as one value. `whole`: also all of a
/// program of one input. The results are the same, bit for bit.
TabledProgram
table_codes(numerics::Program program, std::span<const MapFormat> formats, bool whole);

} // namespace octet::kernels
