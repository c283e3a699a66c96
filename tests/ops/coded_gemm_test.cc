// SPDX-License-Identifier: Apache-2.0
// CodedGemm is Gemm of what DequantizeLinear makes of its weights, bit for bit, for every type.
#include <random>

#include "ops/op_runner.h"

namespace octet::test {
namespace {

struct CodedDraw {
  std::mt19937 rng{11};

  Tensor floats(Shape shape) {
    Tensor t = *Tensor::zeros(DType::kFloat32, std::move(shape));
    for (float& v : t.mutable_data<float>())
      v = static_cast<float>(rng() % 2001) / 1000.0F - 1.0F;
    return t;
  }
  Tensor codes(DType type, Shape shape) {
    std::vector<double> values(static_cast<size_t>(*element_count(shape)));
    for (double& v : values)
      v = static_cast<double>(rng() % 512) - 256;
    return *Tensor::from_doubles(type, std::move(shape), values);
  }
};

constexpr DType kCodedTypes[] = {DType::kInt8,          DType::kUint8,          DType::kInt4,
                                 DType::kUint4,         DType::kInt2,           DType::kUint2,
                                 DType::kFloat8E4M3FN,  DType::kFloat8E4M3FNUZ, DType::kFloat8E5M2,
                                 DType::kFloat8E5M2FNUZ};

TEST(CodedGemmOperator, IsGemmOfTheDequantizedWeights) {
  constexpr int64_t kRows = 3, kN = 5, kK = 23;
  CodedDraw drawn;
  for (const DType type : kCodedTypes)
    for (const int64_t block : {0, 8, 1, 100})
      for (const bool zeros : {false, true})
        for (const bool bias : {false, true}) {
          const int64_t blocks = block == 0 ? 1 : (kK + block - 1) / block;
          const Tensor x = drawn.floats({2, kRows, kK}), w = drawn.codes(type, {kN, kK}),
                       scale = drawn.floats({kN, blocks});
          const Tensor zero = zeros ? drawn.codes(type, {kN, blocks}) : Tensor();
          const Tensor b = bias ? drawn.floats({kN}) : Tensor();
          const Tensor real = first(run_op(
              "", "DequantizeLinear",
              {{"axis", attribute(int64_t{1})}, {"block_size", attribute(block == 0 ? kK : block)}},
              {w, scale, zero}, 21));
          const Tensor want =
              first(run_op(kNative, "Gemm", {{"min", attribute(-0.5F)}}, {x, real, b}, 1));
          const Tensor got = first(run_op(kNative, "CodedGemm",
                                          {{"min", attribute(-0.5F)}, {"block", attribute(block)}},
                                          {x, w, scale, zero, b}, 1));
          EXPECT_TRUE(got.identical(want)) << name(type) << " block " << block;
        }
}

TEST(CodedGemmOperator, RefusesWhatDoesNotFit) {
  CodedDraw drawn;
  const Tensor x = drawn.floats({2, 6}), w = drawn.codes(DType::kInt8, {3, 6}),
               scale = drawn.floats({3, 2});
  const auto why = [&](int64_t block, std::vector<Tensor> inputs) {
    const auto y =
        run_op(kNative, "CodedGemm", {{"block", attribute(block)}}, std::move(inputs), 1);
    return y.ok() ? std::string() : y.error().text();
  };
  EXPECT_EQ(why(4, {x, w, scale}), "");
  EXPECT_NE(why(-1, {x, w, scale}).find("block is -1"), std::string::npos);
  EXPECT_NE(why(2, {x, w, scale}).find("blocks of weights"), std::string::npos);
  EXPECT_NE(why(4, {x, w, drawn.floats({2, 2})}).find("output channels"), std::string::npos);
  EXPECT_NE(why(4, {drawn.floats({2, 5}), w, scale}).find("inner sizes"), std::string::npos);
  EXPECT_NE(why(4, {x, w, scale, drawn.codes(DType::kUint8, {3, 2})}), "");
  EXPECT_NE(why(4, {x, drawn.floats({3, 6}), scale}), "");
  EXPECT_NE(why(4, {x, w, scale, Tensor(), drawn.floats({2})}).find("bias"), std::string::npos);
}

} // namespace
} // namespace octet::test
