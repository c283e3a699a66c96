// SPDX-License-Identifier: Apache-2.0
// ONNX's own backend tests through the native executor: every case that passes in the reference
// executor, as it stands and with all inputs but the first as constants (the form in which weights
// are packed). The same tolerances as there; what does not pass stands in expected_unsupported.txt.
#include <iostream>
#include <map>
#include <set>

#include "support/backend.h"
#include "support/expectations.h"
#include <gtest/gtest.h>

#include "octet/onnx.h"
#include "octet/session.h"

namespace octet {
namespace {

using test::BackendCase;

struct Data {
  std::vector<Tensor> inputs, outputs;
};

Result<Data> read_data(const std::string& data_set) {
  Data data;
  data.inputs = OCTET_TRY(test::read_tensors(BackendCase::files(data_set, "input")));
  data.outputs = OCTET_TRY(test::read_tensors(BackendCase::files(data_set, "output")));
  return data;
}

/// The graph with its inputs from the second on made constants.
Result<Graph> with_constants(const Graph& graph, const std::vector<Tensor>& inputs) {
  Graph out = graph;
  const std::vector<ValueId> ids = out.inputs();
  if (ids.size() != inputs.size()) return Error("inputs are missing");
  for (size_t i = 1; i < ids.size(); ++i)
    out.set_constant(ids[i], inputs[i]);
  out.set_inputs({ids[0]});
  return out;
}

/// Kernels that a session runs, by operator of the lowered graph.
std::set<std::string> kernels_of(const Session& session) {
  std::set<std::string> out;
  for (const PlannedNode& node : session.plan())
    if (node.kernel != "reference" && node.kernel != "view" && node.kernel != "shape")
      out.insert(node.kernel);
  return out;
}

Status compare(Session& session, const Data& data) {
  const auto have = OCTET_TRY(session.run(data.inputs));
  if (have.size() != data.outputs.size()) return Error("the number of outputs differs");
  for (size_t i = 0; i < have.size(); ++i)
    if (const std::string why = test::difference(have[i], data.outputs[i]); !why.empty())
      return Error("output " + std::to_string(i) + ": " + why);
  return ok_status();
}

class NativeBackend : public ::testing::Test {
 protected:
  /// Runs one form of a case.
  void run(const std::string& of, const char* form, const Graph& graph, const Data& data) {
    const std::string name = of + form;
    const std::set<std::string> operators = test::operators_of(graph);
    auto session = Session::create(graph, {.threads = 1});
    const Status status = session.ok() ? compare(*session, data) : Status(session.error());
    if (!status.ok() && !expectations_.lists(name, operators) && of_reference_.lists(of, operators))
      return;
    expectations_.judge(name, operators, status);
    if (!status.ok()) return;
    const std::set<std::string> kernels = kernels_of(*session);
    ++passed_;
    for (const std::string& kernel : kernels)
      ++uses_[kernel];
  }

  test::Expectations expectations_{"tests/runtime/expected_unsupported.txt"};
  test::Expectations of_reference_{"tests/ops/expected_unsupported.txt"};
  std::map<std::string, int> uses_;
  int passed_ = 0;
};

TEST_F(NativeBackend, KernelsMeetTheOnnxTests) {
  if (!test::backend_missing().empty()) GTEST_SKIP() << test::backend_missing();
  for (const BackendCase& c : test::backend_cases()) {
    const Result<Graph> graph = load_onnx(c.model());
    if (!graph.ok()) continue;
    for (const std::string& data_set : c.data_sets) {
      const Result<Data> data = read_data(data_set);
      if (!data.ok()) continue;
      run(test::full_name(c), "", *graph, *data);
      if (graph->inputs().size() < 2) continue;
      const Result<Graph> held = with_constants(*graph, data->inputs);
      if (held.ok()) run(test::full_name(c), " held", *held, {{data->inputs[0]}, data->outputs});
    }
  }
  expectations_.finish();
  std::cout << passed_ << " cases pass, by kernels:";
  for (const auto& [kernel, uses] : uses_)
    std::cout << " " << kernel << " " << uses << ",";
  std::cout << "\n";
}

} // namespace
} // namespace octet
