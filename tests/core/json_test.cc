// SPDX-License-Identifier: Apache-2.0
#include "core/format.h"
#include "core/json.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace octet {
namespace {

TEST(Json, ErrorsNameThePlace) {
  const auto what = [](std::string_view text) { return parse_json(text).error().message(); };
  EXPECT_EQ(what("{\n  \"a\": 1,\n  \"b\": }\n"), "not valid JSON at line 3, column 8");
  EXPECT_EQ(what(""), "not valid JSON at line 1, column 1");
  EXPECT_EQ(what("{\"a\": 1e999}"), "not valid JSON: a number is too large");
}

TEST(Json, BracketsAreCountedOutsideOfStrings) {
  EXPECT_TRUE(parse_json(std::string(64, '[') + std::string(64, ']')).ok());
  EXPECT_EQ(parse_json(std::string(1'000'000, '[')).error().message(),
            "brackets are nested more than 64 deep");
  EXPECT_TRUE(parse_json("\"" + std::string(1000, '[') + "\\\"[\"").ok());
}

TEST(Json, WritesBytesThatAreNoText) {
  const nlohmann::ordered_json json = {{"z", "a\xff"}, {"a", 1}};
  EXPECT_EQ(json_text(json, -1), "{\"z\":\"a\xEF\xBF\xBD\",\"a\":1}");
  EXPECT_EQ(json_text(nlohmann::json(json), -1), "{\"a\":1,\"z\":\"a\xEF\xBF\xBD\"}");
}

TEST(Json, ALargeObjectIsReadAtOnce) {
  std::string text = "{";
  for (int i = 0; i < 300'000; ++i)
    text += fmt::format("{}\"tensor {}\": [0, {}]", i == 0 ? "" : ",", i, i);
  const auto json = parse_json(text + "}");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json->size(), 300'000U);
  EXPECT_EQ((*json)["tensor 299999"][1], 299'999);
}

} // namespace
} // namespace octet
