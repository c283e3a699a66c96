// SPDX-License-Identifier: Apache-2.0
// ONNX's own backend tests through the reference executor: types, shapes and integers exactly,
// floats within what their makers allow. What does not pass stands in expected_unsupported.txt with
// a reason; a listed case that passes, or a line that names no case, fails too.
#include <iostream>
#include <map>

#include "ops/infer.h"
#include "support/backend.h"
#include "support/expectations.h"
#include <gtest/gtest.h>

#include "octet/executor.h"
#include "octet/onnx.h"

namespace octet {
namespace {

using test::BackendCase;

/// What inference said of an output against the tensor that came out.
std::string contradiction(const TypeInfo& inferred, const Tensor& actual) {
  bool fits = inferred.type == DType::kUndefined || inferred.type == actual.type();
  if (fits && inferred.shape) {
    fits = inferred.rank() == actual.rank();
    for (size_t i = 0; fits && i < inferred.shape->size(); ++i) {
      const Dim& d = (*inferred.shape)[i];
      fits = !d.is_constant() || d.value() == actual.shape()[i];
    }
  }
  if (fits) return {};
  return "inferred " + inferred.text() + " but computed " +
         tensor_type(actual.type(), actual.shape()).text();
}

/// The graph with what its file says of outputs forgotten, so that inference stands alone.
Result<Graph> inferred_alone(Graph graph) {
  for (int32_t i = 0; i < graph.value_bound(); ++i)
    if (graph.value(ValueId{i}).kind == ValueKind::kNodeOutput) graph.set_type(ValueId{i}, {});
  OCTET_TRY(infer_types(graph, UnknownOp::kRefuse));
  return graph;
}

Status check_case(const BackendCase& c, const Graph& loaded) {
  Graph graph = loaded;
  OCTET_TRY(infer_types(graph, UnknownOp::kRefuse));
  const Graph alone = OCTET_TRY(inferred_alone(loaded));
  auto executor = OCTET_TRY(make_reference_executor(graph));
  for (const std::string& data_set : c.data_sets) {
    const auto inputs = OCTET_TRY(test::read_tensors(BackendCase::files(data_set, "input")));
    const auto want = OCTET_TRY(test::read_tensors(BackendCase::files(data_set, "output")));
    const auto have = OCTET_TRY(executor->run(inputs));
    if (have.size() != want.size()) return Error("the number of outputs differs");
    for (size_t i = 0; i < want.size(); ++i) {
      std::string why = test::difference(have[i], want[i]);
      if (why.empty()) why = contradiction(alone.value(alone.outputs()[i]).type, have[i]);
      if (!why.empty()) return Error("output " + std::to_string(i) + ": " + why);
    }
  }
  return ok_status();
}

struct Count {
  int passed = 0, all = 0;
};

TEST(Backend, ReferenceMeetsTheOnnxTests) {
  if (!test::backend_missing().empty()) GTEST_SKIP() << test::backend_missing();
  test::Expectations expectations("tests/ops/expected_unsupported.txt");
  std::map<std::string, Count> counts;
  for (const BackendCase& c : test::backend_cases()) {
    const Result<Graph> graph = load_onnx(c.model());
    const Status status = graph.ok() ? check_case(c, *graph) : Status(graph.error());
    std::vector<std::string> groups = {c.group};
    if (c.group == "node" && graph.ok() && graph->opset() <= 23)
      groups.push_back("node to opset 23");
    for (const std::string& group : groups) {
      ++counts[group].all;
      counts[group].passed += status.ok();
    }
    expectations.judge(test::full_name(c),
                       graph.ok() ? test::operators_of(*graph) : std::set<std::string>{}, status);
  }
  expectations.finish();
  for (const auto& [group, count] : counts)
    std::cout << group << ": " << count.passed << " of " << count.all << " cases pass\n";
}

} // namespace
} // namespace octet
