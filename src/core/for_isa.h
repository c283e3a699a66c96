// SPDX-License-Identifier: Apache-2.0
// The choice between what instruction sets supply. Made before a loop, never inside it.
#pragma once

#include "core/cpu.h"

namespace octet {

/// What stands for `isa` among functions, addresses or numbers of one type; an instruction set
/// without an argument takes that of the one before. On other processors than x86-64 there is the
/// first alone, and the others need no definition: an argument of a template names a function but
/// does not refer to it.
template <auto scalar,
          decltype(scalar) avx2,
          decltype(scalar) avx512 = avx2,
          decltype(scalar) avx512vnni = avx512>
constexpr decltype(scalar) for_isa([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx512Vnni) return avx512vnni;
  if (isa == Isa::kAvx512) return avx512;
  if (isa == Isa::kAvx2) return avx2;
#endif
  return scalar;
}

} // namespace octet
