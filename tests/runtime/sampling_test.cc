// SPDX-License-Identifier: Apache-2.0
// GridSample: see step_cases.h. Odd values are in images and grids, places beyond the image in all.
#include <string>
#include <vector>

#include "core/format.h"
#include "runtime/step_cases.h"

namespace octet {
namespace {

/// Each mode with each padding; `corners`: where the places -1 and 1 lie.
std::string in_all_modes(std::string inputs, const std::string& y, bool corners = false) {
  std::string outputs;
  char name = 'a';
  for (const char* mode : {"linear", "nearest", "cubic"})
    for (const char* padding : {"zeros", "border", "reflection"}) {
      inputs += fmt::format("{} = GridSample(x, grid) {{mode=\"{}\", padding_mode=\"{}\"{}}}\n",
                            name, mode, padding, corners ? ", align_corners=1" : "");
      outputs += fmt::format("output {}: {}\n", name++, y);
    }
  outputs.pop_back();
  return inputs + outputs;
}

const std::vector<StepCase>& sampling_cases() {
  static const std::string kPlain = in_all_modes("input x: f32[N, 3, 6, 5]\n"
                                                 "input grid: f32[N, S, 7, 2]\n",
                                                 "f32[N, 3, S, 7]");
  static const std::string kAtCorners = in_all_modes("input x: f32[N, 3, 6, 5]\n"
                                                     "input grid: f32[N, S, 7, 2]\n",
                                                     "f32[N, 3, S, 7]", true);
  static const std::string kOfAnySize = in_all_modes("input x: f32[N, 2, S, 3]\n"
                                                     "input grid: f32[N, 3, S, 2]\n",
                                                     "f32[N, 2, 3, S]");
  static const std::string kOfOneRow = in_all_modes("input x: f32[N, 2, 1, S]\n"
                                                    "input grid: f32[N, 5, 3, 2]\n",
                                                    "f32[N, 2, 5, 3]");
  static const std::string kOfOneElement = in_all_modes("input x: f32[N, S, 1, 1]\n"
                                                        "input grid: f32[N, 5, 3, 2]\n",
                                                        "f32[N, S, 5, 3]", true);
  static const std::string kAtElements = in_all_modes("input x: f32[N, S, 5, 3]\n"
                                                      "input at: i32[N, 9, 9, 2]\n"
                                                      "grid = Cast(at) {to=1}\n",
                                                      "f32[N, S, 9, 9]", true);
  static const std::vector<StepCase> kCases = {
      {"GridSample", kPlain.c_str(), 20, true},
      {"GridSampleAtCorners", kAtCorners.c_str(), 20, true},
      {"GridSampleOfAnySize", kOfAnySize.c_str(), 20, true, 3, 1},
      {"GridSampleOfOneRow", kOfOneRow.c_str(), 20, true, 3, 1},
      {"GridSampleOfOneElement", kOfOneElement.c_str(), 20, true},
      {"GridSampleAtElements", kAtElements.c_str(), 20, true},
      {"GridSampleOfImages", R"(input x: f32[N, 3, 6, 5]
input grid: f32[N, S, 7, 2]
a = GridSample(x, grid)
b = GridSample(x, grid) {mode="bilinear", padding_mode="border"}
c = GridSample(x, grid) {mode="bicubic", align_corners=1}
output a: f32[N, 3, S, 7]
output b: f32[N, 3, S, 7]
output c: f32[N, 3, S, 7])",
       16, true},
  };
  return kCases;
}

INSTANTIATE_TEST_SUITE_P(Sampling,
                         Steps,
                         ::testing::ValuesIn(sampling_cases()),
                         [](const auto& made) { return std::string(made.param.name); });

} // namespace
} // namespace octet
