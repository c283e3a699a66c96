// SPDX-License-Identifier: Apache-2.0
// Every model and every tensor of ONNX's backend tests opens.
#include <fstream>
#include <iterator>

#include "support/backend.h"
#include <gtest/gtest.h>

#include "octet/onnx.h"

namespace octet {
namespace {

/// A tensor file, unless the test's input is a sequence or an optional.
bool is_tensor(const TypeInfo& type) {
  return type.opaque.empty();
}

TEST(LoadOnnx, OpensEveryBackendModel) {
  if (!test::backend_missing().empty()) GTEST_SKIP() << test::backend_missing();
  size_t models = 0, tensors = 0;
  for (const test::BackendCase& c : test::backend_cases()) {
    const Result<Graph> graph = load_onnx(c.model());
    ASSERT_TRUE(graph.ok()) << graph.error().text();
    ++models;
    for (const std::string& data_set : c.data_sets) {
      const std::vector<std::string> files = test::BackendCase::files(data_set, "input");
      for (size_t i = 0; i < files.size() && i < graph->inputs().size(); ++i) {
        const TypeInfo& type = graph->value(graph->inputs()[i]).type;
        if (!is_tensor(type)) continue;
        const Result<NamedTensor> tensor = read_tensor_proto(files[i]);
        ASSERT_TRUE(tensor.ok()) << tensor.error().text();
        EXPECT_EQ(tensor->tensor.type(), type.type) << files[i];
        ++tensors;
      }
    }
  }
  EXPECT_GE(models, 1802u);
  EXPECT_GE(tensors, 3000u);
}

} // namespace
} // namespace octet
