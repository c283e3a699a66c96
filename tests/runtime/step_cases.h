// SPDX-License-Identifier: Apache-2.0
// Small graphs, one operator each: a kernel takes it, and its bits are those of the reference
// executor on the lowered graph. Sizes N and S are open and take several values.
#pragma once

#include <gtest/gtest.h>

namespace octet {

struct StepCase {
  const char* name;
  const char* text;
  int opset = 17;
  /// Some elements are NaN, infinite, -0 or subnormal, and sizes may be 0.
  bool odd_values = false;
  /// Integer inputs are from -range to range - 1.
  int range = 3;
  /// No size is less.
  int least = 0;
};

class Steps : public ::testing::TestWithParam<StepCase> {};

} // namespace octet
