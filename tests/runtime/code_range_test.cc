// SPDX-License-Identifier: Apache-2.0
// The range of codes that a lowered node is known to keep to, on which proofs of sums rest.
#include <algorithm>
#include <cmath>

#include "core/numerics/program.h"
#include "graph/domains.h"
#include "runtime/steps/codes.h"
#include <gtest/gtest.h>

#include "octet/graph.h"

namespace octet::runtime {
namespace {

using numerics::MapOp;

struct Coded {
  float scale;
  int64_t zero;
};

/// The range of a node whose program is one function of a float.
kernels::XRange range_of(const std::string& op, const std::string& function, const Coded& y) {
  Graph g;
  g.opsets[""] = 20;
  const bool map = op == "QMap";
  const ValueId x = g.add_input("x", {map ? DType::kFloat32 : DType::kInt8, {{4, 4}}, {}});
  Attributes attributes = {{"program", {function + " x0"}},
                           {"to", {static_cast<int64_t>(DType::kInt8)}},
                           {map ? "scale" : "y_scale", {y.scale}},
                           {map ? "zero_point" : "y_zero_point", {y.zero}}};
  if (map) {
    attributes["scales"] = {std::vector<float>{1.0F}};
    attributes["zero_points"] = {std::vector<int64_t>{0}};
  }
  std::vector<ValueId> inputs = {x};
  if (!map) {
    inputs.push_back(g.add_constant("w", Tensor::zeros(DType::kInt8, {4, 4}).value()));
    inputs.push_back(g.add_constant("m", Tensor::scalar(0.01F)));
  }
  const ValueId out = g.emit(op, inputs, attributes, "y", std::string(kNative));
  g.set_type(out, {DType::kInt8, {}, {}});
  return code_range_of(g, out);
}

int64_t code_of(float v, const Coded& y) {
  if (std::isnan(v)) return y.zero;
  const float code = std::nearbyint(std::clamp(v / y.scale, -1000.0F, 1000.0F));
  return std::clamp<int64_t>(static_cast<int64_t>(code) + y.zero, -128, 127);
}

TEST(CodeRange, OfFunctionsWithALeastValue) {
  const std::pair<const char*, MapOp> functions[] = {
      {"gelu", MapOp::kGelu},         {"gelu_tanh", MapOp::kGeluTanh},
      {"silu", MapOp::kSilu},         {"mish", MapOp::kMish},
      {"relu", MapOp::kRelu},         {"sigmoid", MapOp::kSigmoid},
      {"softplus", MapOp::kSoftplus}, {"abs", MapOp::kAbs},
      {"neg", MapOp::kNeg},           {"hard_swish", MapOp::kHardSwish}};
  for (const auto& [name, op] : functions)
    for (const Coded y : {Coded{0.05F, 0}, {0.001F, 0}, {0.003F, 40}, {0.07F, -128}, {5.0F, 127}}) {
      int64_t least = y.zero, most = y.zero;
      for (int i = -60000; i <= 60000; ++i) {
        const int64_t code = code_of(numerics::apply(op, static_cast<float>(i) * 5e-4F, 0, 0), y);
        least = std::min(least, code);
        most = std::max(most, code);
      }
      for (const char* node : {"QMap", "QGemm"}) {
        SCOPED_TRACE(std::string(node) + " " + name + " " + std::to_string(y.scale));
        const kernels::XRange range = range_of(node, name, y);
        EXPECT_LE(range.lo, least);
        EXPECT_GE(range.hi, most);
        EXPECT_GE(range.lo, op == MapOp::kNeg ? -128 : least - 2);
      }
    }
}

/// Its program is of the scores, not of what it hands on.
TEST(CodeRange, AProgramInsideANodeSaysNothing) {
  const kernels::XRange range = range_of("QAttention", "relu", {0.05F, 0});
  EXPECT_EQ(range.lo, -128);
  EXPECT_EQ(range.hi, 127);
}

} // namespace
} // namespace octet::runtime
