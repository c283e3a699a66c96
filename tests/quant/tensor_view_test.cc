// SPDX-License-Identifier: Apache-2.0
// Tensors that are looked at in pieces, alone and as codes, against the arithmetic of the test and
// what DequantizeLinear makes of the codes.
#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/evaluate.h"
#include "ops/qdq/site.h"
#include "quant/see/tensor_view.h"
#include "quant/support.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "octet/graph_text.h"

namespace octet {
namespace {

/// Numbers are looked at in pieces, which end where examples do not.
TEST(TensorView, PiecesDoNotShow) {
  const Tensor x = test::random_tensor({3, 100'003}, 7), y = test::random_tensor({3, 100'003}, 8);
  for (const int64_t axis : {0, 1}) {
    TensorView all("x", std::nullopt, {0, 0}, axis), alone("x", std::nullopt, {0, 0}, axis);
    ASSERT_TRUE(all.add(x, y).ok());
    ASSERT_TRUE(alone.add_alone(x).ok());
    double noise = 0, signal = 0;
    std::vector<double> largest(axis == 0 ? 3 : 100'003, 0);
    for (int64_t i = 0; i < x.count(); ++i) {
      noise += std::pow(x.at(i) - y.at(i), 2);
      signal += std::pow(x.at(i), 2);
      double& most = largest[static_cast<size_t>(axis == 0 ? i / 100'003 : i % 100'003)];
      most = std::max(most, std::fabs(x.at(i)));
    }
    EXPECT_NEAR(all.sqnr_db(), 10 * std::log10(signal / noise), 1e-9);
    EXPECT_EQ(all.channels(), largest);
    EXPECT_EQ(alone.channels(), largest);
    EXPECT_EQ(alone.elements(), x.count());
    EXPECT_EQ(alone.lowest(), all.lowest());
    EXPECT_EQ(alone.histogram().state(), all.histogram().state());
  }
}

TEST(TensorView, CodesAreTheNumbersThatTheyStandFor) {
  struct Form {
    DType codes, real;
    Shape scale;
    int64_t axis, block;
  };
  for (const Form& form : {Form{DType::kInt8, DType::kFloat32, {}, 0, 0},
                           {DType::kUint8, DType::kFloat32, {300}, 0, 0},
                           {DType::kInt8, DType::kFloat16, {500}, 1, 0},
                           {DType::kInt4, DType::kFloat32, {500}, 1, 0},
                           {DType::kInt4, DType::kFloat32, {30, 500}, 0, 10},
                           {DType::kUint4, DType::kFloat32, {300, 25}, 1, 20}}) {
    Graph graph = parse_graph("graph g opset(\"\"=21)\nconst q: i8[1] = [0]\n"
                              "const s: f32[] = [1]\nconst z: i8[] = [0]\n"
                              "y = DequantizeLinear(q, s, z)\noutput y: f32[*]\n")
                      .value();
    const auto numbers = [&](const Shape& shape, double step, int wrap, DType type, double least) {
      std::vector<double> out(static_cast<size_t>(element_count(shape).value()));
      for (size_t i = 0; i < out.size(); ++i)
        out[i] = least + step * static_cast<double>(i * 7 % static_cast<size_t>(wrap));
      return Tensor::from_doubles(type, shape, out).value();
    };
    const bool is_signed = form.codes == DType::kInt8 || form.codes == DType::kInt4;
    const Tensor codes = numbers({300, 500}, 1, 16, form.codes, is_signed ? -8 : 0);
    const Tensor zero = numbers(form.scale, 1, 3, form.codes, 0);
    const Node& node = graph.node(graph.nodes()[0]);
    graph.set_constant(node.input(0), codes);
    graph.set_constant(node.input(1), numbers(form.scale, 0.0625, 11, form.real, 0.25));
    graph.set_constant(node.input(2), zero);
    graph.mutable_node(node.id).attributes["axis"].value = form.axis;
    if (form.block > 0) graph.mutable_node(node.id).attributes["block_size"].value = form.block;
    const auto grid = qdq::grid_of(graph, graph.node(node.id),
                                   {.most = qdq::Reading::Most::kAny, .written_zero = false});
    ASSERT_TRUE(grid);
    const CodeRange range = *code_range(form.codes);
    TensorView made("w", *grid, range, -1), wanted("w", *grid, range, -1);
    ASSERT_TRUE(made.add_codes(codes, form.real).ok());
    ASSERT_TRUE(wanted.add_alone(*constant_value(graph, node.output(0))).ok());
    EXPECT_EQ(made.histogram().state(), wanted.histogram().state());
    EXPECT_EQ(made.channels(), wanted.channels());
    EXPECT_EQ(made.elements(), 150'000);
    EXPECT_EQ(made.saturated(), 0);
    EXPECT_EQ(wanted.saturated(), 0);
    EXPECT_GE(*made.sqnr_alone_db(), 199); // no rounding
    if (form.real == DType::kFloat32) {
      EXPECT_GE(*wanted.sqnr_alone_db(), 120);
    }
  }
}

} // namespace
} // namespace octet
