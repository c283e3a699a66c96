// SPDX-License-Identifier: Apache-2.0
// The torch executor on ONNX's backend node tests, for every case whose operators octet defines.
// What it does not do stands in expected_unsupported.txt with a reason; an unexpected pass fails
// too.
#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "ops/op.h"
#include "support/backend.h"
#include "support/paths.h"
#include "train/executor/torch_executor.h"
#include <gtest/gtest.h>

#include "octet/onnx.h"

namespace octet {
namespace {

std::map<std::string, std::string> expected_unsupported() {
  std::map<std::string, std::string> out;
  std::ifstream file(std::string(test::source_dir()) + "/tests/train/expected_unsupported.txt");
  EXPECT_TRUE(file.good());
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t space = line.find(' ');
    EXPECT_NE(space, std::string::npos) << line << " has no reason";
    out[line.substr(0, space)] = line.substr(space + 1);
  }
  return out;
}

bool is_defined(const Graph& graph) {
  for (const NodeId id : graph.nodes())
    if (find_op(graph.node(id).domain, graph.node(id).op_type) == nullptr) return false;
  for (const std::vector<ValueId>* list : {&graph.inputs(), &graph.outputs()})
    for (const ValueId v : *list)
      if (!graph.value(v).type.opaque.empty() || graph.value(v).type.type == DType::kString)
        return false;
  return true;
}

Result<std::vector<Tensor>> read_all(const std::vector<std::string>& files) {
  std::vector<Tensor> out;
  out.reserve(files.size());
  for (const std::string& file : files)
    out.push_back(OCTET_TRY(read_tensor_proto(file)).tensor);
  return out;
}

/// Empty when equal within the tolerances that ONNX's own runner uses.
std::string difference(const Tensor& got, const Tensor& expected) {
  if (got.type() != expected.type())
    return "type " + std::string(name(got.type())) + ", expected " +
           std::string(name(expected.type()));
  if (got.shape() != expected.shape())
    return "shape " + to_string(got.shape()) + ", expected " + to_string(expected.shape());
  for (int64_t i = 0; i < expected.count(); ++i) {
    const double a = got.at(i), b = expected.at(i);
    if (a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= 1e-7 + 1e-3 * std::abs(b))
      continue;
    std::ostringstream text;
    text << "element " << i << " is " << a << ", expected " << b;
    return text.str();
  }
  return {};
}

Result<std::string> run_case(const Graph& graph, const test::BackendCase& c) {
  const std::unique_ptr<Executor> executor =
      OCTET_TRY(train::make_torch_executor(graph, {.threads = 1}));
  for (const std::string& set : c.data_sets) {
    const std::vector<Tensor> inputs = OCTET_TRY(read_all(test::BackendCase::files(set, "input")));
    const std::vector<Tensor> expected =
        OCTET_TRY(read_all(test::BackendCase::files(set, "output")));
    const std::vector<Tensor> got = OCTET_TRY(executor->run(inputs));
    for (size_t i = 0; i < expected.size(); ++i)
      if (const std::string text = difference(got[i], expected[i]); !text.empty())
        return "output " + std::to_string(i) + ": " + text;
  }
  return std::string();
}

TEST(TorchExecutor, PassesTheBackendNodeTests) {
  if (!test::backend_missing().empty()) GTEST_SKIP() << test::backend_missing();
  const std::map<std::string, std::string> unsupported = expected_unsupported();
  std::set<std::string> seen;
  int passed = 0;
  for (const test::BackendCase& c : test::backend_cases()) {
    if (c.group != "node") continue;
    const Result<Graph> graph = load_onnx(c.model());
    ASSERT_TRUE(graph.ok()) << graph.error().text();
    if (!is_defined(*graph)) continue;
    const Result<std::string> result = run_case(*graph, c);
    const std::string problem = result.ok() ? *result : result.error().text();
    seen.insert(c.name);
    if (unsupported.contains(c.name))
      EXPECT_FALSE(problem.empty()) << c.name << " passes; take it out of expected_unsupported.txt";
    else
      EXPECT_TRUE(problem.empty()) << c.name << ": " << problem;
    passed += problem.empty() ? 1 : 0;
  }
  for (const auto& [name, reason] : unsupported)
    EXPECT_TRUE(seen.contains(name)) << name << " in expected_unsupported.txt is no case";
  RecordProperty("passed", passed);
  EXPECT_GE(passed, 200);
}

} // namespace
} // namespace octet
