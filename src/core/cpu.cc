// SPDX-License-Identifier: Apache-2.0
// CPUID says what the processor has, XGETBV what the operating system saves. Source: Intel SDM
// volume 2A (CPUID) and volume 1, 13.3. Linux lends the registers of AMX to
// processes that ask for them: Documentation/arch/x86/xstate.rst.
#include "core/cpu.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace octet {
namespace {

struct Named {
  std::string_view name;
  Isa isa;
};

constexpr std::array<Named, 6> kSets = {{{"scalar", Isa::kScalar},
                                         {"avx2", Isa::kAvx2},
                                         {"vnni256", Isa::kVnni256},
                                         {"avx512", Isa::kAvx512},
                                         {"avx512vnni", Isa::kAvx512Vnni},
                                         {"amxint8", Isa::kAmxInt8}}};

constexpr std::array<Named, 11> kFeatures = {{{"avx2", {Isa::kFeatureAvx2}},
                                              {"fma", {Isa::kFeatureFma}},
                                              {"avx512f", {Isa::kFeatureAvx512f}},
                                              {"avx512bw", {Isa::kFeatureAvx512bw}},
                                              {"avx512dq", {Isa::kFeatureAvx512dq}},
                                              {"avx512vl", {Isa::kFeatureAvx512vl}},
                                              {"avx512vnni", {Isa::kFeatureAvx512vnni}},
                                              {"avx512vbmi", {Isa::kFeatureAvx512vbmi}},
                                              {"vnni256", {Isa::kFeatureVnni256}},
                                              {"avxvnni", {Isa::kFeatureAvxVnni}},
                                              {"amxint8", {Isa::kFeatureAmxInt8}}}};

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

/// Whether this process may use the tile registers, of which each thread's state is 8 KB.
bool may_use_tiles() {
#if defined(__linux__) && defined(SYS_arch_prctl)
  constexpr long kRequestPermission = 0x1023; // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;              // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

Isa detect() {
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t c = 0;
  uint32_t d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return {};
  const bool fma = bit(c, 12);
  const bool osxsave = bit(c, 27);
  const bool avx = bit(c, 28);
  if (!osxsave || !avx || __get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return {};
  const uint32_t subleaves = a;
  constexpr uint64_t kYmm = 0x06; // SSE and AVX state
  constexpr uint64_t kZmm = 0xE6; // and opmask, upper ZMM halves, ZMM16-31
  const uint64_t states = enabled_states();
  Isa isa;
  const auto add = [&](bool present, Isa::Feature feature) {
    if (present) isa.features |= feature;
  };
  if ((states & kYmm) != kYmm) return {};
  add(bit(b, 5), Isa::kFeatureAvx2);
  add(fma, Isa::kFeatureFma);
  if ((states & kZmm) == kZmm) {
    add(bit(b, 16), Isa::kFeatureAvx512f);
    add(bit(b, 17), Isa::kFeatureAvx512dq);
    add(bit(b, 30), Isa::kFeatureAvx512bw);
    add(bit(b, 31), Isa::kFeatureAvx512vl);
    add(bit(c, 1), Isa::kFeatureAvx512vbmi);
    add(bit(c, 11), Isa::kFeatureAvx512vnni);
    constexpr uint64_t kTiles = 0x60000; // their shapes and their contents
    const bool amx = bit(d, 24) && bit(d, 25) && (states & kTiles) == kTiles;
    add(amx && may_use_tiles(), Isa::kFeatureAmxInt8);
  }
  if (subleaves >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0)
    add(bit(a, 4), Isa::kFeatureAvxVnni);
  constexpr uint32_t kEvex = Isa::kFeatureAvx512vnni | Isa::kFeatureAvx512vl;
  add(isa.has({Isa::kFeatureAvxVnni}) || isa.has({kEvex}), Isa::kFeatureVnni256);
  return isa;
}
#else
Isa detect() {
  return {};
}
#endif

Isa machine() {
  static const Isa found = detect();
  return found;
}

/// With the machine's features that extend it and are in no set.
Isa completed(Isa isa) {
  if (isa.has(Isa::kAvx512)) isa = isa.with({machine().features & Isa::kFeatureAvx512vbmi});
  if (isa.has(Isa::kVnni256)) isa = isa.with({machine().features & Isa::kFeatureAvxVnni});
  return isa;
}

std::string names_of(bool supported_only) {
  std::string text;
  for (const Named& set : kSets) {
    if (supported_only && !isa_supported(set.isa)) continue;
    if (!text.empty()) text += ", ";
    text += set.name;
  }
  return text;
}

Error unknown(std::string_view what, std::string_view name, const std::string& choices) {
  return Error(std::string(what) + " \"" + std::string(name) + "\" is unknown; choose one of " +
               choices);
}

Error lacking(std::string_view what, std::string_view name) {
  return Error(std::string(what) + " " + std::string(name) +
                   " is not supported by this machine, which has " + names_of(true) +
                   "; choose one of these",
               ErrorCode::kUnsupported);
}

const Named* find(std::span<const Named> among, std::string_view name) {
  const auto found =
      std::find_if(among.begin(), among.end(), [&](const Named& one) { return one.name == name; });
  return found == among.end() ? nullptr : &*found;
}

/// `+feature` or `-feature`.
Status change(Isa& isa, std::string_view text) {
  const bool adds = text.starts_with('+');
  const std::string_view name = text.substr(text.empty() ? 0 : 1);
  const Named* feature = adds || text.starts_with('-') ? find(kFeatures, name) : nullptr;
  if (feature == nullptr) {
    std::string names;
    for (const Named& one : kFeatures)
      names += (names.empty() ? "" : ", ") + std::string(one.name);
    return Error("change of an instruction set \"" + std::string(text) +
                 "\" is unknown; write + or - before one of " + names);
  }
  if (adds && !isa_supported(feature->isa)) return lacking("feature", name);
  isa = adds ? isa.with(feature->isa) : isa.without(feature->isa);
  return ok_status();
}

} // namespace

std::string_view isa_name(Isa isa) {
  const auto last = std::find_if(kSets.rbegin(), kSets.rend(),
                                 [&](const Named& set) { return isa.has(set.isa); });
  return last->name;
}

const std::vector<Isa>& known_isas() {
  static const std::vector<Isa> all = [] {
    std::vector<Isa> sets;
    sets.reserve(kSets.size());
    for (const Named& set : kSets)
      sets.push_back(completed(set.isa));
    return sets;
  }();
  return all;
}

bool isa_supported(Isa isa) {
  return machine().has(isa);
}

bool has_two_vector_units() {
#if defined(__x86_64__)
  return __builtin_cpu_is("intel") != 0;
#else
  return false;
#endif
}

Isa default_isa() {
  const std::vector<Isa>& all = known_isas();
  return *std::find_if(all.rbegin(), all.rend(), isa_supported);
}

std::string isa_text(Isa isa) {
  const std::string_view name = isa_name(isa);
  const Isa named = completed(find(kSets, name)->isa);
  std::string text(name);
  for (const Named& feature : kFeatures) {
    if (isa.has(feature.isa) == named.has(feature.isa)) continue;
    text += isa.has(feature.isa) ? ",+" : ",-";
    text += feature.name;
  }
  return text;
}

Result<Isa> parse_isa(std::string_view text) {
  std::string_view rest = text;
  const auto next = [&] {
    const size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view word = rest.substr(0, comma);
    rest = rest.substr(std::min(comma + 1, rest.size()));
    return word;
  };
  const std::string_view name = next();
  const Named* set = find(kSets, name);
  if (set == nullptr) return unknown("instruction set", name, names_of(false));
  if (!isa_supported(set->isa)) return lacking("instruction set", name);
  Isa isa = completed(set->isa);
  while (!rest.empty())
    OCTET_TRY(change(isa, next()));
  return isa;
}

Result<Isa> selected_isa() {
  const char* forced = std::getenv("OCTET_ISA");
  if (forced == nullptr || *forced == '\0') return default_isa();
  return parse_isa(forced).with("OCTET_ISA");
}

Result<Isa> isa_or_selected(std::string_view text) {
  return text.empty() ? selected_isa() : parse_isa(text);
}

} // namespace octet
