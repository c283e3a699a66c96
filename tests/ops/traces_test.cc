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
  for (const OpDef& op : all_ops()) {
    // ONNX Runtime's own, which it writes into ai.onnx.
    if (!op.domain.empty() || op.name == "SimplifiedLayerNormalization") continue;
    const auto* schema = onnx_schemas().find(op.name, std::max(op.since, kOldest));
    EXPECT_NE(nullptr, schema) << op.name << " has no row in src/ops/schema_types_data.cc for "
                               << "operator set " << op.since << ", its first";
  }
}

TEST(Traces, DocsStateEachNativeOperator) {
  const std::string docs = text_of("docs/native-operators.md");
  ASSERT_FALSE(docs.empty());
  for (const OpDef& op : all_ops()) {
    if (op.domain != "octet.native") continue;
    EXPECT_NE(std::string::npos, docs.find("`" + std::string(op.name) + "`"))
        << op.name << " is not in docs/native-operators.md";
  }
}

TEST(Traces, EachDefinitionHasALine) {
  const std::filesystem::path root(test::source_dir());
  const std::string list = text_of("src/ops/ops.def");
  size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / "src/ops")) {
    if (entry.path().extension() != ".cc") continue;
    const std::string file = std::filesystem::relative(entry.path(), root).string();
    const std::string text = text_of(file);
    // In the namespace octet::<domain>::op_<Name>, which is what a line's macro names.
    const std::string start = "extern const OpFacets facets = {";
    for (size_t at = text.find(start); at != std::string::npos; at = text.find(start, at + 1)) {
      const std::string room = "namespace octet::";
      const size_t from = text.rfind("\n" + room, at) + 1 + room.size();
      const std::string scope = text.substr(from, text.find(" {", from) - from);
      const size_t colons = scope.find("::op_");
      const std::string line =
          "OP(" + scope.substr(0, colons) + ", " + scope.substr(colons + 5) + ", ";
      EXPECT_NE(std::string::npos, list.find(line))
          << file << " defines " << scope << ", and src/ops/ops.def has no line for it";
      ++count;
    }
  }
  EXPECT_EQ(all_ops().size(), count);
}

} // namespace
} // namespace octet
