// SPDX-License-Identifier: Apache-2.0
// Operators under inputs and attributes that nobody meant: ONNX's backend cases with a random
// change each. Every one is refused with an error or runs to what inference said; none crashes.
#include <algorithm>
#include <limits>

#include "core/philox.h"
#include "ops/infer.h"
#include "support/backend.h"
#include <gtest/gtest.h>

#include "octet/executor.h"
#include "octet/onnx.h"

namespace octet {
namespace {

constexpr int kChangesPerCase = 12;
constexpr uint64_t kSeed = 20240607;

int64_t odd_integer(Philox& random) {
  constexpr int64_t kOdd[] = {-3,
                              -2,
                              -1,
                              0,
                              1,
                              2,
                              3,
                              5,
                              1LL << 31,
                              1LL << 41,
                              std::numeric_limits<int64_t>::max(),
                              std::numeric_limits<int64_t>::min()};
  return kOdd[random.below(std::size(kOdd))];
}

float odd_float(Philox& random) {
  constexpr float kOdd[] = {-1,
                            0,
                            0.5F,
                            1e30F,
                            std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()};
  return kOdd[random.below(std::size(kOdd))];
}

Tensor odd_tensor(const Tensor& like, Philox& random) {
  Shape shape = like.shape();
  const int64_t what = random.below(4);
  if (what == 0 && !shape.empty()) shape.erase(shape.begin() + random.below(like.rank()));
  if (what == 1) shape.insert(shape.begin() + random.below(like.rank() + 1), random.below(3));
  if (what == 2 && !shape.empty())
    shape[static_cast<size_t>(random.below(like.rank()))] = random.below(5);
  DType type = like.type();
  if (what == 3) type = static_cast<DType>(1 + random.below(28));
  if (type == DType::kString || type == DType::kComplex64 || type == DType::kComplex128)
    type = DType::kInt64;
  int64_t count = 1;
  for (int64_t d : shape)
    count *= d;
  std::vector<int64_t> values(static_cast<size_t>(count));
  for (int64_t& v : values)
    v = random.below(4) == 0 ? odd_integer(random) : random.below(3);
  const std::vector<double> reals(values.begin(), values.end());
  if (type == DType::kInt64) return Tensor::of<int64_t>(shape, values);
  return Tensor::from_doubles(type, shape, reals).value();
}

void change_attribute(Attribute& a, Philox& random) {
  if (auto* i = std::get_if<int64_t>(&a.value)) *i = odd_integer(random);
  if (auto* f = std::get_if<float>(&a.value)) *f = odd_float(random);
  if (auto* s = std::get_if<std::string>(&a.value)) *s = random.below(2) == 0 ? "" : *s + "x";
  if (auto* t = std::get_if<Tensor>(&a.value)) *t = odd_tensor(*t, random);
  if (auto* v = std::get_if<std::vector<int64_t>>(&a.value)) {
    const int64_t what = random.below(3);
    if (what == 0 || v->empty())
      v->push_back(odd_integer(random));
    else if (what == 1)
      v->pop_back();
    else
      (*v)[static_cast<size_t>(random.below(static_cast<int64_t>(v->size())))] =
          odd_integer(random);
  }
  if (auto* v = std::get_if<std::vector<float>>(&a.value)) v->push_back(odd_float(random));
}

/// Changes one thing in a node or in the inputs.
void change(Graph& graph, std::vector<Tensor>& inputs, Philox& random) {
  const auto nodes = graph.nodes();
  if (nodes.empty()) return;
  const NodeId id = nodes[static_cast<size_t>(random.below(static_cast<int64_t>(nodes.size())))];
  Node& node = graph.mutable_node(id);
  const int64_t what = random.below(6);
  if (what == 0 && !node.inputs.empty()) {
    graph.set_node_input(
        id, static_cast<size_t>(random.below(static_cast<int64_t>(node.inputs.size()))), {});
  } else if (what <= 2 && !node.attributes.empty()) {
    auto at = node.attributes.begin();
    std::advance(at, random.below(static_cast<int64_t>(node.attributes.size())));
    if (what == 1)
      node.attributes.erase(at);
    else
      change_attribute(at->second, random);
  } else if (!inputs.empty()) {
    Tensor& t = inputs[static_cast<size_t>(random.below(static_cast<int64_t>(inputs.size())))];
    if (t.type() != DType::kString) t = odd_tensor(t, random);
  }
}

bool has_loop(const Graph& graph) {
  for (const NodeId id : graph.nodes())
    if (graph.node(id).is("Loop")) return true;
  return false;
}

/// Forgets the declared types, so that the operators themselves must refuse what does not fit.
void forget_types(Graph& graph) {
  for (int32_t i = 0; i < graph.value_bound(); ++i)
    if (!graph.value(ValueId{i}).is_constant()) graph.set_type(ValueId{i}, {});
}

TEST(Hostile, ChangedCasesAreRefusedOrRun) {
  if (!test::backend_missing().empty()) GTEST_SKIP() << test::backend_missing();
  int ran = 0, refused = 0;
  uint64_t stream = 0;
  for (const test::BackendCase& c : test::backend_cases()) {
    ++stream;
    if (c.group != "node" || c.data_sets.empty()) continue;
    const Result<Graph> graph = load_onnx(c.model());
    if (!graph.ok() || has_loop(*graph)) continue;
    std::vector<Tensor> inputs;
    for (const std::string& file : test::BackendCase::files(c.data_sets[0], "input"))
      if (auto t = read_tensor_proto(file); t.ok()) inputs.push_back(t->tensor);
    if (inputs.size() != graph->inputs().size()) continue;
    Philox random(kSeed, stream);
    for (int i = 0; i < kChangesPerCase; ++i) {
      SCOPED_TRACE(c.name + " change " + std::to_string(i));
      Graph changed = *graph;
      std::vector<Tensor> values = inputs;
      forget_types(changed);
      change(changed, values, random);
      const bool fits = infer_types(changed, UnknownOp::kRefuse).ok();
      auto executor = make_reference_executor(changed);
      const bool works = executor.ok() && (*executor)->run(values).ok();
      (fits && works ? ran : refused) += 1;
    }
  }
  EXPECT_GT(ran, 1000);
  EXPECT_GT(refused, 1000);
}

} // namespace
} // namespace octet
