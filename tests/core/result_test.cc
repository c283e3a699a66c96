// SPDX-License-Identifier: Apache-2.0
// What a function returns that succeeds or fails.
#include <gtest/gtest.h>

#include "octet/result.h"

namespace octet {
namespace {

Status even(int number) {
  if (number % 2 != 0) return Error("odd");
  return {};
}

TEST(Status, BracesAreSuccess) {
  EXPECT_TRUE(even(2).ok());
  ASSERT_FALSE(even(3).ok());
  EXPECT_EQ(even(3).error().text(), "odd");
  // A value is never made up.
  static_assert(!std::is_default_constructible_v<Result<int>>);
}

} // namespace
} // namespace octet
