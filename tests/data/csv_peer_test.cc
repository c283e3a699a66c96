// SPDX-License-Identifier: Apache-2.0
// octet's half of csv_peer.py, which runs it: the same rows as CSV and as JSON lines.
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "octet/text_source.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

TEST(CsvPeer, DISABLED_CsvAndJsonOfPythonAreTheSameRows) {
  const char* folder = std::getenv("OCTET_PEER_FOLDER");
  ASSERT_NE(folder, nullptr) << "run tests/data/csv_peer.py";
  int rows = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    fs::path path = entry.path();
    if (path.extension() != ".csv") continue;
    const auto csv = open_text("csv:" + path.string() + "?text2=other", Split::kTrain);
    ASSERT_TRUE(csv.ok()) << csv.error().text();
    path.replace_extension(".jsonl");
    const auto json = open_text("jsonl:" + path.string() + "?text2=other", Split::kTrain);
    ASSERT_TRUE(json.ok()) << json.error().text();
    ASSERT_EQ((*csv)->size(), (*json)->size());
    for (int64_t i = 0; i < (*csv)->size(); ++i) {
      const TextExample a = (*csv)->example(i).value();
      const TextExample b = (*json)->example(i).value();
      EXPECT_EQ(a.text, b.text);
      EXPECT_EQ(a.text2, b.text2);
      EXPECT_EQ(a.label, b.label);
      ++rows;
    }
  }
  EXPECT_EQ(rows, 1500);
}

} // namespace
} // namespace octet
