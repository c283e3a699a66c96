// SPDX-License-Identifier: Apache-2.0
// What an operator leaves outside its own file, besides its line in ops.def and its autograd
// mapping (a link error): each missing trace is named.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ops/op.h"
#include "ops/schema_types.h"
#include "support/paths.h"
#include <gtest/gtest.h>

namespace octet {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(std::string(test::source_dir()) + "/" + path);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

TEST(Traces, OnnxHasASchemaForEachOperator) {
  constexpr int64_t kOldest = 7; // of the table
  for (const OpDef* op : all_ops()) {
    if (!op->domain.empty()) continue;
    const auto* schema = onnx_schemas().find(op->name, std::max(op->since, kOldest));
    EXPECT_NE(nullptr, schema) << op->name << " has no row in src/ops/schema_types_data.cc for "
                               << "operator set " << op->since << ", its first";
  }
}

TEST(Traces, DocsStateEachNativeOperator) {
  const std::string docs = text_of("docs/native-operators.md");
  ASSERT_FALSE(docs.empty());
  for (const OpDef* op : all_ops()) {
    if (op->domain != "octet.native") continue;
    EXPECT_NE(std::string::npos, docs.find("`" + std::string(op->name) + "`"))
        << op->name << " is not in docs/native-operators.md";
  }
}

/// What stands between quotes behind the first `key` from `at` on.
std::string quoted(const std::string& text, const std::string& key, size_t at) {
  const size_t from = text.find(key, at) + key.size();
  return text.substr(from, text.find('"', from) - from);
}

TEST(Traces, EachDefinitionHasALine) {
  const std::filesystem::path root(test::source_dir());
  size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / "src/ops")) {
    if (entry.path().extension() != ".cc") continue;
    const std::string file = std::filesystem::relative(entry.path(), root).string();
    const std::string text = text_of(file);
    const std::string start = "extern const OpDef def = {";
    for (size_t at = text.find(start); at != std::string::npos; at = text.find(start, at + 1)) {
      const std::string domain = quoted(text, ".domain = \"", at);
      const std::string name = quoted(text, ".name = \"", at);
      EXPECT_NE(nullptr, find_op(domain, name))
          << file << " defines " << name << ", and src/ops/ops.def has no line for it";
      ++count;
    }
  }
  EXPECT_EQ(all_ops().size(), count);
}

TEST(Traces, LinesAndFilesAgree) {
  for (const OpDef* op : all_ops()) {
    const std::string domain = op->domain.empty()                         ? "onnx"
                               : op->domain == "com.microsoft"            ? "ms"
                               : op->domain == "octet.native"             ? "native"
                               : op->domain == "ai.onnx.preview.training" ? "training"
                                                                          : "unknown";
    const std::string line = "OP(" + domain + ", " + std::string(op->name) + ", ";
    EXPECT_NE(std::string::npos, text_of("src/ops/ops.def").find(line))
        << op->name << " of " << op->domain << " says another name or domain than its line";
  }
}

} // namespace
} // namespace octet
