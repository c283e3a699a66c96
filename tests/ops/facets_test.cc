// SPDX-License-Identifier: Apache-2.0
// What operators say of themselves (motion, range, determinism, facts) against what their
// references do: on the inputs of ONNX's own tests and on drawn ones.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <type_traits>

#include "core/philox.h"
#include "ops/op_runner.h"
#include "ops/schema_types.h"
#include "ops/shared/types.h"
#include "support/backend.h"
#include "support/expectations.h"
#include <gtest/gtest.h>

#include "octet/onnx.h"

namespace octet {
namespace {

using test::attribute;
using test::run_op;

static_assert(!std::is_default_constructible_v<Facet<MotionFn>> &&
                  !std::is_default_constructible_v<Fixed<Facts>>,
              "an OpDef that leaves a facet out does not compile");

/// A node of ONNX's tests with values for its inputs.
struct Example {
  std::string name;
  const OpDef* op;
  Node node;
  int64_t version;
  std::vector<Tensor> inputs; ///< an empty one is absent

  EvalContext context(uint64_t seed = 0) const {
    return {.node = node, .version = version, .inputs = inputs, .run_body = {}, .seed = seed};
  }
};

std::vector<Example> read_examples() {
  std::vector<Example> out;
  for (const test::BackendCase& c : test::backend_cases()) {
    if (c.group != "node") continue;
    const Result<Graph> graph = load_onnx(c.model());
    if (!graph.ok() || graph->nodes().size() != 1 || c.data_sets.empty()) continue;
    const Node& node = graph->node(graph->nodes().front());
    const OpDef* op = find_op(node.domain, node.op_type);
    const auto values = test::read_tensors(test::BackendCase::files(c.data_sets[0], "input"));
    if (op == nullptr || !values.ok() || values->size() != graph->inputs().size()) continue;
    Example example{c.name, op, node, graph->opset(node.domain), {}};
    for (const ValueId in : node.inputs) {
      const auto at = std::find(graph->inputs().begin(), graph->inputs().end(), in);
      const Tensor* constant = graph->constant(in);
      example.inputs.push_back(at != graph->inputs().end()
                                   ? (*values)[static_cast<size_t>(at - graph->inputs().begin())]
                               : constant != nullptr ? *constant
                                                     : Tensor{});
    }
    out.push_back(std::move(example));
  }
  return out;
}

const std::vector<Example>& examples() {
  static const std::vector<Example> all = read_examples();
  return all;
}

bool is_unsaid(ValueRangeFn* range) {
  return range == unbounded;
}

std::vector<double> sorted(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values;
}

/// NaN stands for one number, so that it compares.
std::vector<double> comparable(const Tensor& t) {
  std::vector<double> out = t.to_doubles().value();
  for (double& v : out)
    if (std::isnan(v)) v = std::numeric_limits<double>::max();
  return out;
}

/// How an output does not fit the motion that is claimed; empty: it fits.
std::string misfit(const Example& example, const Motion& motion, const Tensor& y) {
  std::vector<double> from;
  for (size_t i = 0; i < example.inputs.size(); ++i)
    if (motion.takes(i) && !example.inputs[i].empty()) {
      const auto more = comparable(example.inputs[i]);
      from.insert(from.end(), more.begin(), more.end());
    }
  const std::vector<double> to = comparable(y);
  switch (motion.kind) {
  case Motion::Kind::kNone:
    return {};
  case Motion::Kind::kView:
    return from == to ? "" : "not the elements in their order";
  case Motion::Kind::kPermute:
    return sorted(from) == sorted(to) ? "" : "not each element once";
  case Motion::Kind::kCast:
    return from.size() == to.size() ? "" : "not one element for each";
  case Motion::Kind::kFill:
    from.push_back(0);
    for (const Tensor& other : example.inputs)
      if (other.count() == 1) from.push_back(comparable(other)[0]);
    from.push_back(static_cast<double>(example.node.attr_float("value", 0)));
    break;
  case Motion::Kind::kSelect:
  case Motion::Kind::kOrder:
  case Motion::Kind::kJoin:
    break;
  }
  const std::set<double> known(from.begin(), from.end());
  const bool all = std::all_of(to.begin(), to.end(), [&](double v) { return known.contains(v); });
  return all ? "" : "an element that no input has";
}

/// Absent is none too many.
bool has_numbers(const Tensor& t) {
  return t.empty() || t.to_doubles().ok();
}

TEST(Motion, IsWhatTheReferenceDoes) {
  if (!test::backend_missing().empty()) GTEST_SKIP() << test::backend_missing();
  std::map<const OpDef*, int> seen;
  for (const Example& example : examples()) {
    const Motion motion = example.op->motion.fn(example.node);
    if (motion.kind == Motion::Kind::kNone) continue;
    if (!std::all_of(example.inputs.begin(), example.inputs.end(), has_numbers)) continue;
    const auto outputs = example.op->eval.fn(example.context());
    if (!outputs.ok()) continue; // backend_test judges that
    for (size_t k = 0; k < outputs->size(); ++k)
      if (motion.gives(k) && has_numbers((*outputs)[k])) {
        EXPECT_EQ("", misfit(example, motion, (*outputs)[k])) << example.name << " output " << k;
        ++seen[example.op];
      }
  }
  // Without a case in ONNX's tests.
  const std::set<std::string_view> others = {"octet.native.MaxPool", ".Scatter"};
  for (const OpDef& op : all_ops()) {
    const std::string name = std::string(op.domain) + "." + std::string(op.name);
    if (op.motion.fn != nothing_moves && !others.contains(name)) {
      EXPECT_GT(seen[&op], 0) << name << " says that it moves elements, and no case looks at it";
    }
  }
}

TEST(Range, HoldsWhatTheReferenceGives) {
  if (!test::backend_missing().empty()) GTEST_SKIP() << test::backend_missing();
  std::map<const OpDef*, int> seen;
  for (const Example& example : examples()) {
    if (is_unsaid(example.op->range.fn)) continue;
    if (!std::all_of(example.inputs.begin(), example.inputs.end(), has_numbers)) continue;
    const auto outputs = example.op->eval.fn(example.context());
    if (!outputs.ok() || outputs->empty()) continue;
    const auto in = [&](size_t i) {
      Range out{kEverything.hi, kEverything.lo};
      for (const double v : comparable(example.inputs[i]))
        out = {std::min(out.lo, v), std::max(out.hi, v)};
      return out;
    };
    const auto constant = [&](size_t i) {
      const bool present = i < example.inputs.size() && !example.inputs[i].empty();
      return present ? &example.inputs[i] : nullptr;
    };
    const Range said = example.op->range.fn({.node = example.node, .in = in, .constant = constant});
    const std::vector<double> y = outputs->at(0).to_doubles().value();
    for (const double v : y)
      EXPECT_TRUE(std::isnan(v) || (v >= static_cast<double>(static_cast<float>(said.lo)) &&
                                    v <= static_cast<double>(static_cast<float>(said.hi))))
          << example.name << ": " << v << " is not within " << said.lo << " to " << said.hi;
    ++seen[example.op];
  }
  const std::set<std::string_view> others = {"com.microsoft.DequantizeLinear", ".Scatter"};
  for (const OpDef& op : all_ops()) {
    const std::string name = std::string(op.domain) + "." + std::string(op.name);
    if (!is_unsaid(op.range.fn) && !others.contains(name)) {
      EXPECT_GT(seen[&op], 0) << name << " says what comes out, and no case looks at it";
    }
  }
}

TEST(Determinism, IsWhatTheSeedDoesNotChange) {
  if (!test::backend_missing().empty()) GTEST_SKIP() << test::backend_missing();
  for (const Example& example : examples()) {
    const auto first = example.op->eval.fn(example.context(1));
    const auto second = example.op->eval.fn(example.context(2));
    if (!first.ok() || !second.ok()) continue;
    for (size_t k = 0; k < first->size(); ++k) {
      const Tensor &a = (*first)[k], &b = (*second)[k];
      if (!has_numbers(a) || comparable(a) == comparable(b)) continue;
      EXPECT_TRUE(example.op->facts.value.random) << example.name;
    }
  }
}

TEST(Determinism, IsDeniedByWhatDraws) {
  const OpDef& dropout = *find_op("", "Dropout");
  Node node;
  const std::vector<Tensor> inputs = {
      Tensor::zeros(DType::kFloat32, {64}).value(), Tensor::of<float>({}, {0.5F}),
      Tensor::from_doubles(DType::kBool, {}, std::vector{1.0}).value()};
  const auto mask = [&](uint64_t seed) {
    return dropout.eval
        .fn({.node = node, .version = 13, .inputs = inputs, .run_body = {}, .seed = seed})
        .value()[1];
  };
  EXPECT_NE(comparable(mask(1)), comparable(mask(2)));
  EXPECT_TRUE(dropout.facts.value.random);
}

/// Numbers on both sides of 0, of which a type of 16 bits holds each.
Tensor drawn(DType type, const Shape& shape, uint64_t seed) {
  Philox random(seed);
  int64_t count = 1;
  for (const int64_t d : shape)
    count *= d;
  std::vector<double> values(static_cast<size_t>(count));
  for (double& v : values)
    v = type == DType::kBool      ? static_cast<double>(random.below(2))
        : type == DType::kUint32  ? static_cast<double>(random.below(20))
        : type == DType::kFloat32 ? static_cast<double>(random.below(64)) / 8.0 - 4.0
                                  : static_cast<double>(random.below(41)) - 20.0;
  return Tensor::from_doubles(type, shape, values).value();
}

/// What the drawn examples need; operators that do not know an attribute pass over it.
Attributes usual_attributes() {
  Attributes out;
  out["axis"] = attribute(int64_t{0});
  out["direction"] = attribute(std::string("LEFT"));
  out["kernel_shape"] = attribute(std::vector<int64_t>{2, 2});
  return out;
}

constexpr int64_t kVersion = 23;

/// f of inputs of the first type that it takes, for which `make` draws them.
struct Drawn {
  std::vector<Tensor> inputs;
  Tensor y;
};
template <class Make>
std::optional<Drawn> run_drawn(const OpDef& op, const Make& make) {
  for (const DType type : {DType::kFloat32, DType::kInt32, DType::kBool, DType::kUint32}) {
    std::vector<Tensor> inputs = make(type);
    auto y =
        run_op(std::string(op.domain), std::string(op.name), usual_attributes(), inputs, kVersion);
    if (y.ok() && !y->empty()) return Drawn{std::move(inputs), std::move(y->front())};
  }
  ADD_FAILURE() << op.name << " takes no drawn input";
  return std::nullopt;
}

Tensor again(const OpDef& op, std::vector<Tensor> inputs) {
  return test::first(run_op(std::string(op.domain), std::string(op.name), usual_attributes(),
                            std::move(inputs), kVersion));
}

template <class Test>
void for_each_with(bool Facts::*fact, const Test& look) {
  int count = 0;
  for (const OpDef& op : all_ops())
    if (op.facts.value.*fact) {
      look(op);
      ++count;
    }
  EXPECT_GT(count, 0);
}

std::vector<Tensor> single(DType type) {
  return {drawn(type, {1, 2, 4, 4}, 7)};
}

TEST(Facts, IdempotentOperatorsDoNothingTwice) {
  for_each_with(&Facts::idempotent, [](const OpDef& op) {
    const auto once = run_drawn(op, single);
    if (once) {
      EXPECT_EQ(comparable(once->y), comparable(again(op, {once->y}))) << op.name;
    }
    // Two of one type are the same function only where attributes say nothing.
    EXPECT_TRUE(onnx_schemas().find(op.name, kVersion)->attributes.empty()) << op.name;
  });
}

TEST(Facts, InvolutionsUndoThemselves) {
  for_each_with(&Facts::involution, [](const OpDef& op) {
    const auto once = run_drawn(op, single);
    if (once) {
      EXPECT_EQ(comparable(once->inputs[0]), comparable(again(op, {once->y}))) << op.name;
    }
    EXPECT_TRUE(onnx_schemas().find(op.name, kVersion)->attributes.empty()) << op.name;
  });
}

TEST(Facts, OfOneInputSomeAreThatInput) {
  for_each_with(&Facts::of_one_is_it, [](const OpDef& op) {
    const auto once = run_drawn(op, single);
    if (once) {
      EXPECT_EQ(comparable(once->inputs[0]), comparable(once->y)) << op.name;
    }
  });
}

TEST(Facts, BroadcastOperandsMayBeExpandedBefore) {
  for_each_with(&Facts::broadcasts, [](const OpDef& op) {
    const bool where = op.name == "Where";
    const auto once = run_drawn(op, [&](DType type) {
      std::vector<Tensor> inputs = {drawn(type, {2, 1, 3}, 7), drawn(type, {4, 1}, 8)};
      if (where) inputs.insert(inputs.begin(), drawn(DType::kBool, {4, 3}, 9));
      return inputs;
    });
    if (!once) return;
    const Tensor wide = Tensor::of<int64_t>({3}, {2, 4, 3});
    std::vector<Tensor> expanded;
    for (const Tensor& x : once->inputs)
      expanded.push_back(test::first(run_op("", "Expand", {}, {x, wide}, kVersion)));
    EXPECT_EQ((Shape{2, 4, 3}), once->y.shape()) << op.name;
    EXPECT_EQ(comparable(once->y), comparable(again(op, expanded))) << op.name;
  });
}

TEST(Facts, ExactOperatorsNeedNoRounding) {
  for_each_with(&Facts::exact, [](const OpDef& op) {
    const auto once = run_drawn(op, single);
    if (!once) return;
    const std::vector<double> y = once->y.to_doubles().value();
    for (const DType narrow : {DType::kFloat16, DType::kBfloat16}) {
      const Tensor rounded = Tensor::from_doubles(narrow, once->y.shape(), y).value();
      EXPECT_EQ(y, rounded.to_doubles().value()) << op.name;
    }
  });
}

TEST(Facts, MagnitudesBoundWhatComesOut) {
  for_each_with(&Facts::by_magnitude, [](const OpDef& op) {
    const auto once = run_drawn(op, [&](DType type) {
      std::vector<Tensor> inputs = single(type);
      if (op.facts.value.broadcasts) inputs.push_back(drawn(type, {4, 4}, 8));
      return inputs;
    });
    if (!once) return;
    std::vector<Tensor> magnitudes;
    for (const Tensor& x : once->inputs)
      magnitudes.push_back(test::first(run_op("", "Abs", {}, {x}, kVersion)));
    const Tensor bound = again(op, magnitudes);
    for (int64_t i = 0; i < bound.count(); ++i)
      EXPECT_LE(std::fabs(once->y.at(i)), bound.at(i)) << op.name << " at " << i;
  });
}

TEST(Facts, AgreeWithWhatQuantizationIsTold) {
  InputInfo x;
  x.present = true;
  x.type.type = DType::kFloat32;
  x.type.shape = {Dim(1), Dim(4), Dim(4), Dim(4)};
  const Tensor some = drawn(DType::kFloat32, {4, 4}, 1);
  InputInfo weight = x;
  weight.constant = &some;
  for (const OpDef& op : all_ops()) {
    Node node;
    node.op_type = op.name;
    node.domain = op.domain;
    node.inputs = {ValueId{0}, ValueId{1}, ValueId{2}};
    const QuantTrait trait = op.quant.fn(node, std::vector<InputInfo>{x, weight, weight});
    const Facts& facts = op.facts.value;
    if (trait.kind == QuantTrait::Kind::kWeighted || trait.kind == QuantTrait::Kind::kProduct) {
      EXPECT_TRUE(facts.products) << op.name;
    }
    if (facts.on_codes) {
      EXPECT_EQ(QuantTrait::Kind::kNone, trait.kind) << op.name;
    }
    if (trait.reason == "the operator works on codes already") {
      const bool steps = op.name.find("uantizeWith") != std::string_view::npos;
      EXPECT_NE(steps, facts.on_codes) << op.name;
    }
  }
}

TEST(Facts, UnchangedOperatorsKeepTheirAttributes) {
  for_each_with(&Facts::unchanged, [](const OpDef& op) {
    // ONNX Runtime's own, in ONNX's domain: there is one version of it.
    if (op.name == "SimplifiedLayerNormalization") return;
    const auto* versions = onnx_schemas().versions(op.name);
    ASSERT_NE(nullptr, versions) << op.name;
    const OperatorTypes::Version* before = nullptr;
    for (int64_t opset = 13; opset <= kVersion; ++opset) {
      const OperatorTypes::Version* now = onnx_schemas().find(op.name, opset);
      if (now == nullptr || now->missing) continue;
      const auto keeps = [&](std::string_view name) {
        return std::find(now->attributes.begin(), now->attributes.end(), name) !=
               now->attributes.end();
      };
      if (before != nullptr) {
        EXPECT_TRUE(std::all_of(before->attributes.begin(), before->attributes.end(), keeps))
            << op.name << " loses an attribute in operator set " << opset;
      }
      before = now;
    }
  });
}

} // namespace
} // namespace octet
