// SPDX-License-Identifier: Apache-2.0
// Which instructions the kernels may use. Asked once, when a plan is made, never inside a loop.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "octet/result.h"

namespace octet {

/// A set of features of the processor: what a machine has, or what a form of a kernel needs.
struct Isa {
  /// One bit each. A feature that kernels come to need is a line here, its name and its test of
  /// the processor in cpu.cc.
  enum Feature : uint32_t {
    kFeatureAvx2 = 1U << 0,
    kFeatureFma = 1U << 1,
    kFeatureAvx512f = 1U << 2,
    kFeatureAvx512bw = 1U << 3,
    kFeatureAvx512dq = 1U << 4,
    kFeatureAvx512vl = 1U << 5,
    kFeatureAvx512vnni = 1U << 6,
    kFeatureAvx512vbmi = 1U << 7,
    kFeatureVnni256 = 1U << 8,  ///< vpdpbusd of 256 bits, in either encoding
    kFeatureAvxVnni = 1U << 9,  ///< its VEX encoding
    kFeatureAmxInt8 = 1U << 10, ///< matrices of bytes in tile registers (AMX-TILE, AMX-INT8)
  };

  uint32_t features = 0;

  constexpr bool has(Isa needs) const { return (needs.features & ~features) == 0; }
  constexpr Isa with(Isa more) const { return {features | more.features}; }
  constexpr Isa without(Isa less) const { return {features & ~less.features}; }
  friend constexpr auto operator<=>(const Isa&, const Isa&) = default;

  static const Isa kScalar;     ///< nothing: what every processor runs
  static const Isa kAvx2;       ///< with FMA
  static const Isa kVnni256;    ///< AVX2 and vpdpbusd of 256 bits
  static const Isa kAvxVnni;    ///< that where AVX-512 may be missing
  static const Isa kAvx512;     ///< AVX2 and F, BW, DQ and VL of AVX-512
  static const Isa kAvx512Vnni; ///< that and vpdpbusd of 512 bits
  static const Isa kAmxInt8;    ///< that and matrices of bytes
  static const Isa kAvx512Vbmi; ///< kAvx512 and permutations of bytes
};

inline constexpr Isa Isa::kScalar{};
inline constexpr Isa Isa::kAvx2{kFeatureAvx2 | kFeatureFma};
inline constexpr Isa Isa::kVnni256 = kAvx2.with({kFeatureVnni256});
inline constexpr Isa Isa::kAvxVnni = kVnni256.with({kFeatureAvxVnni});
inline constexpr Isa Isa::kAvx512 =
    kAvx2.with({kFeatureAvx512f | kFeatureAvx512bw | kFeatureAvx512dq | kFeatureAvx512vl});
inline constexpr Isa Isa::kAvx512Vnni = kAvx512.with({kFeatureAvx512vnni});
inline constexpr Isa Isa::kAmxInt8 = kAvx512Vnni.with({kFeatureAmxInt8});
inline constexpr Isa Isa::kAvx512Vbmi = kAvx512.with({kFeatureAvx512vbmi});

/// "scalar", "avx2", "vnni256", "avx512", "avx512vnni" or "amxint8": the last of them that `isa` has.
std::string_view isa_name(Isa isa);

/// The sets of these names, worst first: what each needs, and those of the machine's features that
/// extend it without a name of their own (VBMI beside AVX-512, the encoding of vpdpbusd).
const std::vector<Isa>& known_isas();

/// True when the processor has all of it and the operating system saves its registers.
bool isa_supported(Isa isa);

/// What is used when nothing is forced: the best of known_isas() that the machine has.
Isa default_isa();

/// Whether operations on vectors of 512 bits have two units (Intel's), of which products take both; others
/// do what is no product beside them.
bool has_two_vector_units();

/// A name of known_isas(), then any number of changes: `avx512vnni,-avx512vbmi`, `avx2,+vnni256`.
/// An unknown name or feature, or one that this machine lacks, is an error.
Result<Isa> parse_isa(std::string_view text);

/// What parse_isa() makes `isa` of on this machine.
std::string isa_text(Isa isa);

/// What OCTET_ISA says, or default_isa() where it is unset or empty. Reads the environment each
/// time.
Result<Isa> selected_isa();

/// What a user asked for, or selected_isa() where that is empty.
Result<Isa> isa_or_selected(std::string_view text);

} // namespace octet
