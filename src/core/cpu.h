// SPDX-License-Identifier: Apache-2.0
// Which instruction set the kernels use. Asked once, when a plan is made, never inside a loop.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "octet/result.h"

namespace octet {

/// Instruction sets that kernels are written for, worst first.
enum class Isa : uint8_t { kScalar, kAvx2, kAvx512, kAvx512Vnni };

/// "scalar", "avx2", "avx512", "avx512vnni": the names that OCTET_ISA takes.
std::string_view isa_name(Isa isa);

/// Every instruction set octet knows, worst first.
const std::vector<Isa>& known_isas();

/// True when the processor has it and the operating system saves its registers.
/// kAvx2 needs AVX2 and FMA; kAvx512 needs F, BW, DQ and VL; kAvx512Vnni also VNNI.
bool isa_supported(Isa isa);

/// Whether it permutes bytes too (AVX-512 VBMI): some kernels for kAvx512 and above ask.
bool has_avx512vbmi();

/// What is used when nothing is forced: the best supported one.
Isa default_isa();

/// The instruction set of that name. An unknown name, or one that this machine lacks, is an error.
Result<Isa> parse_isa(std::string_view name);

/// What OCTET_ISA names, or default_isa() where it is unset or empty. Reads the environment each
/// time.
Result<Isa> selected_isa();

} // namespace octet
