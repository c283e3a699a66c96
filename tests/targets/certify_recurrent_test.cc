// SPDX-License-Identifier: Apache-2.0
// certify of LSTM, GRU and RNN: the product of x and W is integer, that of states and R is not.
#include <string>

#include <gtest/gtest.h>

#include "octet/certify.h"
#include "octet/graph_text.h"

namespace octet {
namespace {

/// RNN of 2 units in both directions: [100, 100, 1, 1] and [64, 64, 0, 0], [1, 2, 3, 4] and [90, 90,
/// 2, 2]. R is in codes too, which changes nothing: states are not.
Graph two_directions(int axis) {
  return parse_graph("graph g opset(\"\"=17)\ninput x: f32[T, N, 4]\nconst s: f32[] = [1]\n"
                     "const z: i8[] = [0]\nconst w: i8[2, 2, 4] = [100, 100, 1, 1, 64, 64, 0, 0, "
                     "1, 2, 3, 4, 90, 90, 2, 2]\nconst ws: f32[2] = [0.5, 0.25]\n"
                     "const wz: i8[2] = [0, 0]\nconst r: i8[2, 2, 2] = [127, 127, 127, 127, 127, "
                     "127, 127, 127]\nq = QuantizeLinear(x, s, z)\nxd = DequantizeLinear(q, s, z)\n"
                     "wd = DequantizeLinear(w, ws, wz) {axis=" +
                     std::to_string(axis) +
                     "}\nrd = DequantizeLinear(r, s, z)\ny = RNN(xd, wd, rd) {hidden_size=2, "
                     "direction=\"bidirectional\"}\noutput y: f32[*]\n")
      .value();
}

TEST(CertifyRecurrent, TheProductOfXAndWIsListedAndStatesAreFloat) {
  Certification c = Certification::create(two_directions(1)).value();
  EXPECT_TRUE(c.unexamined().empty());
  ASSERT_EQ(c.layers().size(), 1U);
  const CertifiedLayer& l = c.layers()[0];
  EXPECT_EQ(l.op, "RNN");
  EXPECT_EQ(l.channels, 4);
  EXPECT_EQ(l.terms, 4);
  EXPECT_EQ(l.pairs, 8);
  EXPECT_EQ(l.saturating_pairs, 2);
  EXPECT_EQ(l.largest_pair, 255 * 200);
  EXPECT_EQ(l.largest_sum, 255 * 202);
  EXPECT_TRUE(l.fits_int32);
  EXPECT_NE(l.in_float.find("states"), std::string::npos);
  // As uint8 255 in the first sequence and 128 in the second.
  const Tensor x = Tensor::of<float>({1, 2, 4}, {127, 127, 127, 127, 0, 0, 0, 0});
  ASSERT_TRUE(c.simulate(std::vector<Tensor>{x}).ok());
  EXPECT_EQ(l.sums, 8);
  EXPECT_EQ(l.wrong_sums, 2);
  EXPECT_EQ(l.largest_error, 255 * 200 - 32767);
}

/// A scale serves one row of both directions (axis 1), or all rows of one direction (axis 0).
TEST(CertifyRecurrent, CoarserWeightsFollowTheirScales) {
  for (const int axis : {0, 1}) {
    SCOPED_TRACE(axis);
    const Graph graph = two_directions(axis);
    const Graph reduced = Certification::create(graph).value().reduced().value();
    EXPECT_TRUE(Certification::create(reduced).value().safe());
    const auto weights = [](const Graph& g) {
      const Node& rnn = *g.producer(g.outputs()[0]);
      return g.producer(rnn.input(1));
    };
    const Node &was = *weights(graph), &is = *weights(reduced);
    for (int64_t i = 0; i < 16; ++i) {
      const int64_t scale = axis == 0 ? i / 8 : i / 4 % 2;
      const double step = reduced.constant(is.input(1))->at(scale);
      EXPECT_NEAR(reduced.constant(is.input(0))->at(i) * step,
                  graph.constant(was.input(0))->at(i) * graph.constant(was.input(1))->at(scale),
                  0.5001 * step)
          << i;
      EXPECT_GT(step, graph.constant(was.input(1))->at(scale));
    }
  }
}

TEST(CertifyRecurrent, LayersInFloatHoldNothing) {
  const Certification c =
      Certification::create(
          parse_graph("graph g opset(\"\"=17)\ninput x: f32[T, N, 2]\nconst s: f32[] = [1]\n"
                      "const z: i8[] = [0]\nconst w: f32[1, 1, 2] = [100, 100]\n"
                      "const r: i8[1, 1, 1] = [1]\nq = QuantizeLinear(x, s, z)\n"
                      "xd = DequantizeLinear(q, s, z)\nrd = DequantizeLinear(r, s, z)\n"
                      "y = RNN(xd, w, rd) {hidden_size=1}\noutput y: f32[*]\n")
              .value())
          .value();
  EXPECT_TRUE(c.layers().empty());
  EXPECT_TRUE(c.safe());
}

} // namespace
} // namespace octet
