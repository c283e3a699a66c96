// SPDX-License-Identifier: Apache-2.0
// ONNX's own backend tests through the reference executor: types, shapes and integers exactly,
// floats within what their makers allow. What does not pass stands in expected_unsupported.txt with
// a reason; a listed case that passes, or a line that names no case, fails too.
#include <cmath>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>

#include "ops/infer.h"
#include "support/backend.h"
#include "support/paths.h"
#include <gtest/gtest.h>

#include "octet/executor.h"
#include "octet/onnx.h"

namespace octet {
namespace {

using test::BackendCase;

/// ONNX's own bounds (backend/test/case/model runner defaults).
constexpr double kRelative = 1e-3;
constexpr double kAbsolute = 1e-7;

/// Why two tensors differ; empty when they agree.
std::string difference(const Tensor& have, const Tensor& want) {
  std::ostringstream why;
  if (have.type() != want.type()) {
    why << "type " << name(have.type()) << " for " << name(want.type());
  } else if (have.shape() != want.shape()) {
    why << "shape " << to_string(have.shape()) << " for " << to_string(want.shape());
  } else if (have.type() == DType::kString) {
    if (have.string_values() != want.string_values()) why << "strings differ";
  } else if (!is_float(have.type())) {
    const auto a = have.bytes(), b = want.bytes();
    const bool same = std::equal(a.begin(), a.end(), b.begin(), b.end());
    if (!same) why << name(have.type()) << " elements differ";
    for (int64_t i = 0; !same && i < std::min<int64_t>(have.count(), 8); ++i)
      why << " " << have.at(i) << "/" << want.at(i);
  } else {
    for (int64_t i = 0; i < have.count(); ++i) {
      const double a = have.at(i), b = want.at(i);
      if (a == b || (std::isnan(a) && std::isnan(b))) continue;
      if (std::abs(a - b) <= kAbsolute + kRelative * std::abs(b)) continue;
      why << "element " << i << " is " << a << " for " << b;
      break;
    }
  }
  return why.str();
}

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

Result<std::vector<Tensor>> read_all(const std::vector<std::string>& files) {
  std::vector<Tensor> out;
  for (const std::string& file : files)
    out.push_back(OCTET_TRY(read_tensor_proto(file)).tensor);
  return out;
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
    const auto inputs = OCTET_TRY(read_all(BackendCase::files(data_set, "input")));
    const auto want = OCTET_TRY(read_all(BackendCase::files(data_set, "output")));
    const auto have = OCTET_TRY(executor->run(inputs));
    if (have.size() != want.size()) return Error("the number of outputs differs");
    for (size_t i = 0; i < want.size(); ++i) {
      std::string why = difference(have[i], want[i]);
      if (why.empty()) why = contradiction(alone.value(alone.outputs()[i]).type, have[i]);
      if (!why.empty()) return Error("output " + std::to_string(i) + ": " + why);
    }
  }
  return ok_status();
}

/// `pattern : reason` lines. A pattern is a name, a prefix and `*`, or `uses Operator` for every
/// case with such a node.
struct Expectation {
  std::string pattern;
  int uses = 0;

  bool matches(const std::string& name, const std::set<std::string>& operators) const {
    if (pattern.starts_with("uses ")) return operators.count(pattern.substr(5)) > 0;
    if (pattern.ends_with('*')) return name.starts_with(pattern.substr(0, pattern.size() - 1));
    return name == pattern;
  }
};

/// Operator types of a graph and of the bodies in it; those of other domains carry theirs in front.
void collect_operators(const Graph& graph, std::set<std::string>& out) {
  for (const NodeId id : graph.nodes()) {
    const Node& n = graph.node(id);
    out.insert(n.domain.empty() ? n.op_type : n.domain + "." + n.op_type);
    for (const auto& [key, attribute] : n.attributes)
      if (const auto* body = std::get_if<GraphPtr>(&attribute.value))
        collect_operators(**body, out);
  }
}

std::vector<Expectation> read_expectations() {
  std::vector<Expectation> out;
  std::ifstream file(std::string(test::source_dir()) + "/tests/ops/expected_unsupported.txt");
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t colon = line.find(" : ");
    if (colon == std::string::npos || colon + 3 == line.size()) {
      ADD_FAILURE() << "expected_unsupported.txt: no ` : reason` in: " << line;
      continue;
    }
    out.push_back({.pattern = line.substr(0, line.find_last_not_of(' ', colon) + 1)});
  }
  return out;
}

/// `test_add`, with its group in front unless that is "node".
std::string full_name(const BackendCase& c) {
  return c.group == "node" ? c.name : c.group + "/" + c.name;
}

struct Count {
  int passed = 0, all = 0;
};

TEST(Backend, ReferenceMeetsTheOnnxTests) {
  if (!test::backend_missing().empty()) GTEST_SKIP() << test::backend_missing();
  std::vector<Expectation> expectations = read_expectations();
  std::map<std::string, Count> counts;
  for (const BackendCase& c : test::backend_cases()) {
    const std::string name = full_name(c);
    const Result<Graph> graph = load_onnx(c.model());
    const Status status = graph.ok() ? check_case(c, *graph) : Status(graph.error());
    std::vector<std::string> groups = {c.group};
    if (c.group == "node" && graph.ok() && graph->opset() <= 23)
      groups.push_back("node to opset 23");
    for (const std::string& group : groups) {
      ++counts[group].all;
      counts[group].passed += status.ok();
    }
    std::set<std::string> operators;
    if (graph.ok()) collect_operators(*graph, operators);
    Expectation* listed = nullptr;
    for (Expectation& e : expectations) {
      if (!e.matches(name, operators)) continue;
      ++e.uses;
      listed = &e;
    }
    if (status.ok() && listed != nullptr)
      ADD_FAILURE() << name << " passes but is listed (" << listed->pattern << "); take it out";
    if (!status.ok() && listed == nullptr) ADD_FAILURE() << name << ": " << status.error().text();
  }
  for (const Expectation& e : expectations)
    if (e.uses == 0) ADD_FAILURE() << "expected_unsupported.txt names no case: " << e.pattern;
  for (const auto& [group, count] : counts)
    std::cout << group << ": " << count.passed << " of " << count.all << " cases pass\n";
}

} // namespace
} // namespace octet
