// SPDX-License-Identifier: Apache-2.0
// The gradient of a mapping against central differences of the reference executor, in double
// precision: the two share neither the forward nor the backward computation.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "octet/graph.h"

namespace octet::test {

struct GradientProblem {
  std::string name;
  std::string body; ///< statements; inputs are declared from `inputs`, the output is y
  std::vector<std::pair<std::string, Shape>> inputs;
  double low = -1.5, high = 1.5; ///< range of the inputs
  int opset = 17;
};

std::string text_of(const GradientProblem& problem);
/// Fails the test that calls it where the torch executor has other values than the reference, with
/// all that is f64 in the problem as `type`.
void expect_values_of_reference(const GradientProblem& problem, DType type);
/// Fails the test that calls it for each element of an input whose derivative differs.
void expect_gradients_of_reference(const GradientProblem& problem);
std::string name_of(const testing::TestParamInfo<GradientProblem>& info);

} // namespace octet::test
