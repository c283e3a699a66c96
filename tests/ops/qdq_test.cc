// SPDX-License-Identifier: Apache-2.0
// The vocabulary of Q and DQ against the operators themselves: codes, values, saturation, what is
// read of a node and why not, and what is written.
#include <cmath>
#include <limits>
#include <random>

#include "graph/patch.h"
#include "ops/infer.h"
#include "ops/op_runner.h"
#include "ops/qdq/clamp.h"
#include "ops/qdq/emit.h"
#include "ops/qdq/operand.h"
#include "ops/qdq/site.h"

#include "octet/executor.h"
#include "octet/graph_text.h"

namespace octet::test {
namespace {

using qdq::Grid;
using qdq::Same;
using qdq::WhyNot;

constexpr float kLargest = std::numeric_limits<float>::max();

Tensor quantized(const Grid& grid, const Tensor& x) {
  return first(run_op("", "QuantizeLinear", {}, {x, grid.scale, grid.zero}, 21));
}

std::vector<Grid> grids() {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> scale(-6, 2);
  std::vector<Grid> out;
  for (const DType type : {DType::kInt8, DType::kUint8, DType::kInt16, DType::kUint16}) {
    const CodeRange range = *code_range(type);
    std::uniform_int_distribution<int32_t> zero(range.lo, range.hi);
    for (int i = 0; i < 8; ++i)
      out.push_back(Grid::per_tensor_of(type, std::pow(10.0, scale(random)),
                                        static_cast<double>(zero(random)), DType::kFloat32));
  }
  return out;
}

TEST(Grid, CodesAreThoseOfQuantizeLinear) {
  std::mt19937 random(1);
  for (const Grid& grid : grids()) {
    const CodeRange range = *grid.code_range();
    std::uniform_real_distribution<float> code(static_cast<float>(range.lo) - 9,
                                               static_cast<float>(range.hi) + 9);
    std::vector<float> x = {kLargest, -kLargest, std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()};
    for (int i = 0; i < 500; ++i)
      x.push_back((code(random) - static_cast<float>(grid.one_zero())) * grid.one_scale());
    for (int i = 0; i < 100; ++i) // ties
      x.push_back((static_cast<float>(i) + 0.5F) * grid.one_scale());
    const Tensor codes = quantized(grid, Tensor::of<float>({static_cast<int64_t>(x.size())}, x));
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ(static_cast<double>(qdq::code_of(grid, x[i])), codes.at(static_cast<int64_t>(i)))
          << x[i] << " scale " << grid.one_scale() << " zero " << grid.one_zero();
  }
}

TEST(Grid, ValuesAreThoseOfDequantizeLinear) {
  for (const Grid& grid : grids()) {
    const CodeRange range = *grid.code_range();
    std::vector<double> codes;
    for (int32_t code = range.lo; code <= range.hi; ++code)
      codes.push_back(code);
    const Tensor x = *Tensor::from_doubles(grid.codes, {static_cast<int64_t>(codes.size())}, codes);
    const Tensor y = first(run_op("", "DequantizeLinear", {}, {x, grid.scale, grid.zero}, 21));
    Range reached{std::numeric_limits<double>::infinity(),
                  -std::numeric_limits<double>::infinity()};
    for (int64_t i = 0; i < x.count(); ++i) {
      ASSERT_EQ(static_cast<double>(qdq::value_of(grid, static_cast<int64_t>(x.at(i)))), y.at(i));
      reached = {std::min(reached.lo, y.at(i)), std::max(reached.hi, y.at(i))};
    }
    EXPECT_FLOAT_EQ(static_cast<float>(grid.real_range().lo), static_cast<float>(reached.lo));
    EXPECT_FLOAT_EQ(static_cast<float>(grid.real_range().hi), static_cast<float>(reached.hi));
  }
}

// Q rises, so that a clamp shows at the ends or nowhere.
TEST(Clamp, SaturationDoesWhatTheClampDidIfTheEndsSaySo) {
  const Tensor ends = Tensor::of<float>({2}, {-kLargest, kLargest});
  std::mt19937 random(3);
  int done = 0, left = 0;
  for (const Grid& grid : grids()) {
    const CodeRange range = *grid.code_range();
    std::uniform_real_distribution<double> near(-1.5, 1.5);
    for (int i = 0; i < 50; ++i) {
      const double z = grid.zero_at(0), s = grid.scale_at(0);
      const qdq::Clamp clamp{(range.lo - z + near(random)) * s, (range.hi - z + near(random)) * s};
      const Tensor clamped =
          Tensor::of<float>({2}, {static_cast<float>(clamp.lo), static_cast<float>(clamp.hi)});
      const bool same = quantized(grid, clamped).identical(quantized(grid, ends));
      ASSERT_EQ(qdq::saturation_does(grid, clamp), same) << clamp.lo << " to " << clamp.hi;
      (same ? done : left) += 1;
    }
  }
  EXPECT_GT(done, 100);
  EXPECT_GT(left, 100);
}

TEST(Clamp, ReadsBothFormsOfClip) {
  Graph graph;
  graph.opsets[""] = 13;
  const ValueId x = graph.add_input("x", tensor_type(DType::kFloat32, Shape{4}));
  const ValueId lo = graph.add_constant("lo", Tensor::scalar(-1.0F));
  const auto node = [&](const char* type, std::vector<ValueId> inputs, Attributes attributes = {}) {
    return graph.node(
        graph.value(graph.emit(type, std::move(inputs), std::move(attributes))).producer);
  };
  Attributes bounds;
  bounds["min"].value = -2.0F;
  bounds["max"].value = 3.0F;
  const auto relu = qdq::clamp_of(graph, node("Relu", {x}));
  EXPECT_EQ(relu->lo, 0);
  EXPECT_TRUE(std::isinf(relu->hi));
  const auto by_attributes = qdq::clamp_of(graph, node("Clip", {x}, bounds));
  EXPECT_EQ(by_attributes->lo, -2);
  EXPECT_EQ(by_attributes->hi, 3);
  EXPECT_EQ(qdq::clamp_of(graph, node("Clip", {x, lo}))->lo, -1);
  EXPECT_FALSE(qdq::clamp_of(graph, node("Clip", {x, x}))); // computed
  EXPECT_FALSE(qdq::clamp_of(graph, node("Abs", {x})));
}

TEST(Clamp, BehindCodesIsTheirOneReader) {
  Graph graph = parse_graph("graph g opset(\"\"=13)\ninput x: f32[4]\nconst s: f32[] = [0.1]\n"
                            "const z: i8[] = [0]\nconst lo: i8[] = [-8]\n"
                            "q = QuantizeLinear(x, s, z)\nc = Clip(q, lo)\n"
                            "y = DequantizeLinear(c, s, z)\nv = Clip(y)\noutput v: f32[4]\n")
                    .value();
  const ValueId q = *graph.find_value("q"), c = *graph.find_value("c"), y = *graph.find_value("y");
  const Node* clamp = qdq::clamp_behind(graph, Uses(graph), q);
  ASSERT_NE(clamp, nullptr);
  EXPECT_EQ(clamp->output(0), c);
  EXPECT_FALSE(qdq::clamp_behind(graph, Uses(graph), c));
  EXPECT_FALSE(qdq::clamp_behind(graph, Uses(graph), y)); // of real numbers
  graph.set_outputs({*graph.find_value("v"), q});
  EXPECT_FALSE(qdq::clamp_behind(graph, Uses(graph), q));
}

class ReadQdq : public ::testing::Test {
 protected:
  ReadQdq() {
    graph_.opsets[""] = 21;
    x_ = graph_.add_input("x", tensor_type(DType::kFloat32, Shape{2, 3}));
  }

  ValueId constant(Tensor tensor) { return graph_.add_constant("", std::move(tensor)); }
  const Node& quantize(std::vector<ValueId> parameters, Attributes attributes = {}) {
    std::vector<ValueId> inputs = {x_};
    inputs.insert(inputs.end(), parameters.begin(), parameters.end());
    const ValueId y = graph_.emit("QuantizeLinear", std::move(inputs), std::move(attributes));
    graph_.set_type(y, tensor_type(DType::kInt8, Shape{2, 3}));
    return graph_.node(graph_.value(y).producer);
  }
  WhyNot why(const Node& node, const qdq::Reading& reading = qdq::kUsable) {
    const auto site = qdq::read(graph_, node, reading);
    EXPECT_FALSE(site);
    return site ? WhyNot::kNotQdq : site.why();
  }

  Graph graph_;
  ValueId x_;
};

TEST_F(ReadQdq, SaysWhyItCannotBeRead) {
  const ValueId scale = constant(Tensor::scalar(0.5F)), zero = constant(Tensor::scalar<int8_t>(0));
  const ValueId computed = graph_.add_input("s", tensor_type(DType::kFloat32, {}));
  const ValueId three = constant(Tensor::of<float>({3}, {1, 2, 3}));
  const ValueId zeros = constant(Tensor::of<int8_t>({3}, {0, 1, 2}));
  Attributes far;
  far["axis"].value = int64_t{2};
  const qdq::Reading known{.known_axis = true};
  const qdq::Reading one{.most = qdq::Reading::Most::kTensor, .byte_codes = true};

  EXPECT_EQ(why(quantize({computed, zero})), WhyNot::kScaleComputed);
  EXPECT_EQ(why(quantize({scale, computed})), WhyNot::kZeroComputed);
  EXPECT_EQ(why(quantize({scale})), WhyNot::kZeroMissing);
  EXPECT_EQ(why(quantize({constant(*Tensor::zeros(DType::kFloat32, {0})), zero})),
            WhyNot::kScaleEmpty);
  EXPECT_EQ(why(quantize({constant(Tensor::scalar<int32_t>(1)), zero})), WhyNot::kScaleType);
  EXPECT_EQ(why(quantize({three, zero})), WhyNot::kZeroCount);
  EXPECT_EQ(why(quantize({three, zeros}), one), WhyNot::kGranularity);
  EXPECT_EQ(why(quantize({three, zeros}, far), known), WhyNot::kAxis);
  EXPECT_EQ(why(quantize({scale, constant(Tensor::scalar<int16_t>(0))}), one), WhyNot::kCodesType);
  for (const float bad : {0.0F, -1.0F, std::nanf(""), std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::denorm_min()}) {
    const Node& node = quantize({constant(Tensor::scalar(bad)), zero});
    EXPECT_EQ(why(node), WhyNot::kScaleNotUsable) << bad;
    EXPECT_TRUE(qdq::read(graph_, node, qdq::kAnyScale)) << bad;
  }
  const ValueId other = graph_.emit("Abs", {x_});
  EXPECT_EQ(why(graph_.node(graph_.value(other).producer)), WhyNot::kNotQdq);
}

TEST_F(ReadQdq, NormalizesTheAxisAndKeepsTheWrittenOne) {
  const ValueId scale = constant(Tensor::of<float>({3}, {1, 2, 3}));
  const ValueId zero = constant(Tensor::of<int8_t>({3}, {0, 1, 2}));
  Attributes last;
  last["axis"].value = int64_t{-1};
  const auto site = qdq::read(graph_, quantize({scale, zero}, last));
  ASSERT_TRUE(site);
  EXPECT_EQ(site->grid.axis, 1);
  EXPECT_EQ(site->grid.axis_written, -1);
  EXPECT_EQ(site->grid.zeros(), (std::vector<double>{0, 1, 2}));
  EXPECT_FALSE(site->grid.is_symmetric());
}

TEST_F(ReadQdq, WithoutAZeroPointTheTypeIsTheAttributesOrUint8) {
  const qdq::Reading any{.written_zero = false};
  const ValueId scale = constant(Tensor::scalar(0.5F));
  Attributes said;
  said["output_dtype"].value = static_cast<int64_t>(DType::kInt16);
  EXPECT_EQ(qdq::read(graph_, quantize({scale}), any)->grid.codes, DType::kUint8);
  EXPECT_EQ(qdq::read(graph_, quantize({scale}, said), any)->grid.codes, DType::kInt16);
  EXPECT_EQ(qdq::read(graph_, quantize({scale}), any)->grid.zero_at(0), 0);
}

TEST_F(ReadQdq, DequantizersAreAllReadersOrNone) {
  const ValueId scale = constant(Tensor::scalar(0.5F)), zero = constant(Tensor::scalar<int8_t>(3));
  const Node q = quantize({scale, zero});
  const Grid grid = *qdq::grid_of(graph_, q);
  const ValueId codes = q.output(0);
  const auto found = [&] {
    const Uses uses(graph_);
    return qdq::dequantizers(graph_, uses.of(codes), codes, grid);
  };
  EXPECT_EQ(found().why(), WhyNot::kOtherReaders); // there is none
  graph_.emit("DequantizeLinear", {codes, scale, zero});
  // The same numbers as tensors of one axis.
  graph_.emit("DequantizeLinear", {codes, constant(Tensor::of<float>({1}, {0.5F})),
                                   constant(Tensor::of<int8_t>({1}, {3}))});
  ASSERT_TRUE(found());
  EXPECT_EQ(found()->size(), 2U);
  const ValueId other =
      graph_.emit("DequantizeLinear", {codes, constant(Tensor::scalar(0.25F)), zero});
  EXPECT_EQ(found().why(), WhyNot::kOtherGrid);
  graph_.remove_node(graph_.value(other).producer);
  ASSERT_TRUE(found());
  graph_.emit("Transpose", {codes});
  EXPECT_EQ(found().why(), WhyNot::kOtherReaders);
}

TEST_F(ReadQdq, SameParametersAreSameBytes) {
  const ValueId nan = constant(Tensor::scalar(std::nanf(""))),
                again = constant(Tensor::scalar(std::nanf("")));
  const ValueId one = constant(Tensor::scalar(1.0F)),
                vector = constant(Tensor::of<float>({1}, {1.0F}));
  const ValueId computed = graph_.add_input("s", tensor_type(DType::kFloat32, {})),
                other = graph_.add_input("t", tensor_type(DType::kFloat32, {}));
  const auto same = [&](ValueId a, ValueId b) {
    const NodeId first = quantize({a}).id, second = quantize({b}).id;
    return qdq::have_same_parameters(graph_, graph_.node(first), graph_.node(second));
  };
  EXPECT_TRUE(same(nan, again));
  EXPECT_FALSE(same(one, vector));
  EXPECT_TRUE(same(computed, computed));
  EXPECT_FALSE(same(computed, other));
}

/// A graph of one input of codes [2, 3].
Tensor run_on_codes(const Grid& grid, const Tensor& codes, bool arithmetic) {
  Graph graph;
  graph.opsets[""] = 21;
  const ValueId x = graph.add_input("x", tensor_type(codes.type(), codes.shape()));
  const NodeId anchor = graph.value(graph.emit("Identity", {x}, {}, "end")).producer;
  graph.mark_output(graph.node(anchor).output(0));
  Patch patch(graph, "", Exactness::kExact);
  const ValueId made = arithmetic ? qdq::emit_arithmetic(patch, grid, x, codes.rank(), "y")
                                  : qdq::emit_dequantize(patch, grid, x, "y");
  patch.set_input(anchor, 0, made);
  EXPECT_TRUE(patch.apply(graph).ok());
  EXPECT_TRUE(infer_types(graph).ok());
  const auto executor = make_reference_executor(graph);
  return (*executor)->run(std::vector<Tensor>{codes}).value().front();
}

TEST(Emit, ArithmeticGivesTheBitsOfDequantizeLinear) {
  std::vector<int8_t> all;
  for (int code = -128; code < 128; ++code)
    all.push_back(static_cast<int8_t>(code));
  const Tensor codes = Tensor::of<int8_t>({128, 2}, all);
  for (const DType real : {DType::kFloat32, DType::kFloat16}) {
    Grid grid = Grid::per_tensor_of(DType::kInt8, 0.0123, 7, real);
    EXPECT_TRUE(run_on_codes(grid, codes, true).identical(run_on_codes(grid, codes, false)));
    grid.scale = *Tensor::from_doubles(real, {2}, std::vector<double>{0.3, 0.0007});
    grid.zero = Tensor::of<int8_t>({2}, {-4, 100});
    for (const int64_t axis : {1, -1}) {
      grid.axis_written = axis;
      EXPECT_TRUE(run_on_codes(grid, codes, true).identical(run_on_codes(grid, codes, false)));
    }
  }
}

TEST(Emit, WhatIsWrittenIsReadBack) {
  Graph graph;
  graph.opsets[""] = 21;
  const ValueId x = graph.add_input("x", tensor_type(DType::kFloat32, Shape{4, 2}));
  Grid grid = Grid::per_tensor_of(DType::kUint8, 0.5, 9, DType::kFloat32);
  grid.scale = Tensor::of<float>({2}, {0.5F, 0.25F});
  grid.zero = Tensor::of<uint8_t>({2}, {9, 0});
  grid.axis_written = -1;
  const NodeId anchor = graph.value(graph.emit("Identity", {x}, {}, "end")).producer;
  Patch patch(graph, "", Exactness::kExact);
  const ValueId codes = qdq::emit_quantize(patch, grid, x, "q");
  patch.set_input(anchor, 0, qdq::emit_dequantize(patch, grid, codes, "dq"));
  const auto made = patch.apply(graph);
  ASSERT_TRUE(made.ok());
  for (const NodeId id : *made) {
    const auto read = qdq::grid_of(graph, graph.node(id));
    ASSERT_TRUE(read);
    EXPECT_TRUE(qdq::same(*read, grid, Same::kForm));
  }
  EXPECT_FALSE(qdq::same(grid, grid.with({0.5, 0.5}), Same::kNumbers));
}

TEST(Operand, RepeatsALoneNumberForEachScale) {
  Graph graph;
  graph.opsets[""] = 21;
  const ValueId w = graph.add_constant("w", Tensor::of<int8_t>({2, 2}, {1, 2, 3, 4}));
  const ValueId scale = graph.add_constant("s", Tensor::of<float>({2}, {0.5F, 0.25F}));
  const ValueId zero = graph.add_constant("z", Tensor::scalar<int8_t>(1));
  Patch patch(graph, "", Exactness::kExact);
  const auto y = qdq::emit_operand(patch, graph, {w, scale, zero}, 0, "dq");
  ASSERT_TRUE(y);
  const auto made = patch.apply(graph);
  ASSERT_TRUE(made.ok());
  const auto grid = qdq::grid_of(graph, graph.node(made->front()));
  ASSERT_TRUE(grid);
  EXPECT_EQ(grid->zeros(), (std::vector<double>{1, 1}));
  EXPECT_EQ(grid->scales(), (std::vector<double>{0.5, 0.25}));
}

} // namespace
} // namespace octet::test
