// SPDX-License-Identifier: Apache-2.0
// CPUID says what the processor has, XGETBV what the operating system saves. Source: Intel SDM
// volume 2A (CPUID) and volume 1, 13.3.
#include "core/cpu.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace octet {
namespace {

struct Features {
  bool avx2 = false;
  bool avx512 = false;
  bool avx512vnni = false;
  bool avx512vbmi = false;
};

#if defined(__x86_64__)
constexpr bool bit(uint32_t word, int index) {
  return ((word >> index) & 1U) != 0;
}

uint64_t enabled_states() {
  uint32_t low = 0;
  uint32_t high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32) | low;
}

Features detect() {
  Features f;
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t c = 0;
  uint32_t d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return f;
  const bool fma = bit(c, 12);
  const bool osxsave = bit(c, 27);
  const bool avx = bit(c, 28);
  if (!osxsave || !avx || __get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return f;
  constexpr uint64_t kYmm = 0x06; // SSE and AVX state
  constexpr uint64_t kZmm = 0xE6; // and opmask, upper ZMM halves, ZMM16-31
  const uint64_t states = enabled_states();
  f.avx2 = (states & kYmm) == kYmm && fma && bit(b, 5);
  f.avx512 =
      f.avx2 && (states & kZmm) == kZmm && bit(b, 16) && bit(b, 17) && bit(b, 30) && bit(b, 31);
  f.avx512vnni = f.avx512 && bit(c, 11);
  f.avx512vbmi = f.avx512 && bit(c, 1);
  return f;
}
#else
Features detect() {
  return {};
}
#endif

const Features& features() {
  static const Features found = detect();
  return found;
}

std::string names_of(bool supported_only) {
  std::string text;
  for (const Isa isa : known_isas()) {
    if (supported_only && !isa_supported(isa)) continue;
    if (!text.empty()) text += ", ";
    text += isa_name(isa);
  }
  return text;
}

} // namespace

std::string_view isa_name(Isa isa) {
  switch (isa) {
  case Isa::kScalar:
    return "scalar";
  case Isa::kAvx2:
    return "avx2";
  case Isa::kAvx512:
    return "avx512";
  case Isa::kAvx512Vnni:
    return "avx512vnni";
  }
  return "unknown";
}

const std::vector<Isa>& known_isas() {
  static const std::vector<Isa> all = {Isa::kScalar, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Vnni};
  return all;
}

bool isa_supported(Isa isa) {
  switch (isa) {
  case Isa::kScalar:
    return true;
  case Isa::kAvx2:
    return features().avx2;
  case Isa::kAvx512:
    return features().avx512;
  case Isa::kAvx512Vnni:
    return features().avx512vnni;
  }
  return false;
}

bool has_avx512vbmi() {
  return features().avx512vbmi;
}

Isa default_isa() {
  const std::vector<Isa>& all = known_isas();
  return *std::find_if(all.rbegin(), all.rend(), isa_supported);
}

Result<Isa> parse_isa(std::string_view name) {
  for (const Isa isa : known_isas()) {
    if (isa_name(isa) != name) continue;
    if (isa_supported(isa)) return isa;
    return Error("instruction set " + std::string(name) +
                     " is not supported by this machine, which has " + names_of(true) +
                     "; choose one of these",
                 ErrorCode::kUnsupported);
  }
  return Error("instruction set \"" + std::string(name) + "\" is unknown; choose one of " +
               names_of(false));
}

Result<Isa> selected_isa() {
  const char* forced = std::getenv("OCTET_ISA");
  if (forced == nullptr || *forced == '\0') return default_isa();
  return parse_isa(forced).with("OCTET_ISA");
}

} // namespace octet
