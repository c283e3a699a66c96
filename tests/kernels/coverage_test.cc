// SPDX-License-Identifier: Apache-2.0
// At the end of the run prints which instruction sets each kernel was tested on, and fails when one
// named in OCTET_REQUIRE_ISA (comma separated) was not covered by every kernel.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>

#include "kernels/kernel_test.h"

namespace octet::test {
namespace {

std::map<std::string, std::set<Isa>>& record() {
  static std::map<std::string, std::set<Isa>> kernels;
  return kernels;
}

class CoverageReport : public ::testing::Environment {
 public:
  void TearDown() override {
    for (const auto& [kernel, isas] : record()) {
      std::string names;
      for (const Isa isa : isas) {
        names += " " + std::string(isa_name(isa));
      }
      std::printf("covered %s:%s\n", kernel.c_str(), names.c_str());
    }
    const char* required = std::getenv("OCTET_REQUIRE_ISA");
    std::istringstream list(required == nullptr ? "" : required);
    for (std::string name; std::getline(list, name, ',');) {
      const Result<Isa> isa = parse_isa(name);
      ASSERT_TRUE(isa.ok()) << "OCTET_REQUIRE_ISA: " << isa.error().text();
      for (const auto& [kernel, isas] : record()) {
        EXPECT_TRUE(isas.count(*isa) == 1) << kernel << " was not tested on " << name;
      }
    }
  }
};

const auto* const kReport = ::testing::AddGlobalTestEnvironment(new CoverageReport);

} // namespace

std::vector<Isa> covered_isas(const std::string& kernel) {
  std::vector<Isa> isas;
  for (const Isa isa : known_isas()) {
    if (!isa_supported(isa)) continue;
    isas.push_back(isa);
    record()[kernel].insert(isa);
  }
  return isas;
}

} // namespace octet::test
