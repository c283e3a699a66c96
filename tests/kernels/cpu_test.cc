// SPDX-License-Identifier: Apache-2.0
// Detection agrees with the compiler's own, and OCTET_ISA never falls back silently.
#include <cstdlib>
#include <string>

#include "core/cpu.h"
#include "core/for_isa.h"
#include <gtest/gtest.h>

namespace octet {
namespace {

class ForcedIsa {
 public:
  explicit ForcedIsa(const char* value) {
    const char* old = std::getenv("OCTET_ISA");
    had_ = old != nullptr;
    if (had_) old_ = old;
    setenv("OCTET_ISA", value, 1);
  }
  ~ForcedIsa() {
    if (had_) {
      setenv("OCTET_ISA", old_.c_str(), 1);
    } else {
      unsetenv("OCTET_ISA");
    }
  }
  ForcedIsa(const ForcedIsa&) = delete;
  ForcedIsa& operator=(const ForcedIsa&) = delete;

 private:
  bool had_ = false;
  std::string old_;
};

#if defined(__x86_64__)
TEST(Cpu, TheLastFormIsTakenWhoseFeaturesAreThere) {
  constexpr auto kForm = [](Isa isa) {
    return for_isa<0, Isa::kAvx2, 1, Isa::kVnni256, 2, Isa::kAvx512, 3, Isa::kAvx512Vbmi, 4>(isa);
  };
  static_assert(kForm(Isa::kScalar) == 0);
  static_assert(kForm(Isa::kAvx2) == 1);
  static_assert(kForm(Isa::kAvx2.without({Isa::kFeatureFma})) == 0);
  static_assert(kForm(Isa::kVnni256) == 2);
  static_assert(kForm(Isa::kAvxVnni) == 2);
  static_assert(kForm(Isa::kAvx512) == 3);
  static_assert(kForm(Isa::kAvx512Vnni) == 3);
  static_assert(kForm(Isa::kAvx512Vnni.with(Isa::kAvx512Vbmi)) == 4);
  static_assert(kForm(Isa::kAvx512Vbmi.without({Isa::kFeatureAvx512bw})) == 1);
  static_assert(for_isa<7>(Isa::kAvx512) == 7);
}

TEST(Cpu, AgreesWithTheCompilersDetection) {
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  const bool avx512 =
      __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
      __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
  const bool vnni = avx512 && __builtin_cpu_supports("avx512vnni") != 0;
  EXPECT_EQ(isa_supported(Isa::kAvx2), avx2);
  EXPECT_EQ(isa_supported(Isa::kAvx512), avx512);
  EXPECT_EQ(isa_supported(Isa::kAvx512Vnni), vnni);
  if (isa_supported(Isa::kAmxInt8)) {
    EXPECT_TRUE(vnni);
  }
  EXPECT_EQ(isa_supported(Isa::kAvx512Vbmi), avx512 && __builtin_cpu_supports("avx512vbmi") != 0);
}
#endif

TEST(Cpu, ForcedByName) {
  for (const Isa isa : known_isas()) {
    const std::string name(isa_name(isa));
    const ForcedIsa forced(name.c_str());
    const Result<Isa> chosen = selected_isa();
    EXPECT_EQ(chosen.ok(), isa_supported(isa)) << name;
    if (chosen.ok()) {
      EXPECT_EQ(*chosen, isa);
    } else {
      EXPECT_EQ(chosen.error().text().rfind("OCTET_ISA: instruction set " + name, 0), 0U);
    }
  }
}

TEST(Cpu, UnknownNameIsAnErrorThatListsTheNames) {
  const ForcedIsa forced("sse9");
  const Result<Isa> chosen = selected_isa();
  ASSERT_FALSE(chosen.ok());
  EXPECT_EQ(chosen.error().text(), "OCTET_ISA: instruction set \"sse9\" is unknown; choose one of "
                                   "scalar, avx2, vnni256, avx512, avx512vnni, amxint8");
}

TEST(Cpu, ChangesFollowAName) {
  for (const Isa isa : known_isas()) {
    if (!isa_supported(isa)) continue;
    const std::string name(isa_name(isa));
    EXPECT_EQ(parse_isa(name + ",-fma").value(), isa.without({Isa::kFeatureFma})) << name;
    EXPECT_EQ(parse_isa(name + ",-avx512bw,-avx512vbmi").value(),
              isa.without({Isa::kFeatureAvx512bw | Isa::kFeatureAvx512vbmi}))
        << name;
  }
  if (isa_supported(Isa::kAvx512Vnni)) {
    EXPECT_TRUE(parse_isa("avx512,+avx512vnni").value().has(Isa::kAvx512Vnni));
    EXPECT_EQ(isa_name(parse_isa("avx512vnni,-avx512bw").value()), "avx2");
  }
}

TEST(Cpu, AWrongChangeIsAnError) {
  for (const char* text : {"scalar,avx2", "scalar,+sse9", "scalar,+", "scalar,-", "scalar,,"}) {
    const Result<Isa> isa = parse_isa(text);
    ASSERT_FALSE(isa.ok()) << text;
    EXPECT_EQ(isa.error().text().rfind("change of an instruction set \"", 0), 0U) << text;
  }
  if (isa_supported({Isa::kFeatureVnni256})) return;
  EXPECT_EQ(parse_isa("scalar,+vnni256").error().text().rfind("feature vnni256 is not", 0), 0U);
}

TEST(Cpu, EmptyMeansTheDefault) {
  const ForcedIsa forced("");
  ASSERT_TRUE(selected_isa().ok());
  EXPECT_EQ(*selected_isa(), default_isa());
}

TEST(Cpu, TheDefaultIsTheBestSupported) {
  EXPECT_TRUE(isa_supported(default_isa()));
  Isa last;
  for (const Isa isa : known_isas())
    if (isa_supported(isa)) last = isa;
  EXPECT_EQ(default_isa(), last);
}

TEST(Cpu, TextIsParsedBack) {
  for (const Isa isa : known_isas()) {
    if (!isa_supported(isa)) continue;
    EXPECT_EQ(isa_text(isa), isa_name(isa));
    for (uint32_t bit = 1; bit <= Isa::kFeatureAvxVnni; bit <<= 1U) {
      const Isa changed = isa.without({bit});
      EXPECT_EQ(parse_isa(isa_text(changed)).value(), changed) << isa_text(changed);
    }
  }
}

} // namespace
} // namespace octet
