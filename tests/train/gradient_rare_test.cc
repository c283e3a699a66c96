// SPDX-License-Identifier: Apache-2.0
// The gradient of operators that few networks have, and of those that ONNX Runtime's optimizer
// writes.
#include "gradients.h"

namespace octet {
namespace {

using Problem = test::GradientProblem;

class RareGradient : public testing::TestWithParam<Problem> {};

TEST_P(RareGradient, EqualsCentralDifferencesOfTheReference) {
  test::expect_gradients_of_reference(GetParam());
}

TEST_P(RareGradient, HasTheValuesOfTheReference) {
  for (const DType type : {DType::kFloat64, DType::kFloat32, DType::kFloat16, DType::kBfloat16}) {
    SCOPED_TRACE(name(type));
    test::expect_values_of_reference(GetParam(), type);
  }
}

using Inputs = std::vector<std::pair<std::string, Shape>>;

Problem of(const char* name, std::string body, Inputs inputs, int opset = 17) {
  return {name, std::move(body), std::move(inputs), -1.5, 1.5, opset};
}

const Problem kNormsAndPools[] = {
    of("LRN", "y = LRN(x) {size=3, alpha=0.5, beta=0.6, bias=1.5}", {{"x", {2, 5, 2}}}),
    of("LRNOfAnEvenSize", "y = LRN(x) {size=4, alpha=0.5}", {{"x", {1, 5, 2, 1}}}),
    of("LRNOfMoreThanAll", "y = LRN(x) {size=9, alpha=0.5}", {{"x", {1, 3, 2}}}),
    of("LpPool", "y = LpPool(x) {kernel_shape=[2, 2], strides=[2, 1]}", {{"x", {1, 2, 5, 4}}}),
    of("LpPoolThree",
       "y = LpPool(x) {kernel_shape=[2, 3], p=3, pads=[0, 1, 1, 0]}",
       {{"x", {1, 2, 4, 4}}}),
    of("LpPoolOne",
       "y = LpPool(x) {kernel_shape=[3], p=1, strides=[2], auto_pad=\"SAME_UPPER\"}",
       {{"x", {1, 2, 6}}}),
    of("LpPoolCeilDilated",
       "y = LpPool(x) {kernel_shape=[2], dilations=[2], strides=[2], ceil_mode=1}",
       {{"x", {1, 1, 6}}},
       18),
    of("LpPoolOfVolumes",
       "y = LpPool(x) {kernel_shape=[2, 1, 2], pads=[0, 0, 1, 0, 0, 0]}",
       {{"x", {1, 2, 3, 2, 3}}}),
    of("GlobalLpPool", "y = GlobalLpPool(x)", {{"x", {2, 2, 3, 2}}}),
    of("GlobalLpPoolThree", "y = GlobalLpPool(x) {p=3}", {{"x", {2, 2, 4}}}),
    of("GlobalLpPoolOfNoPlane", "y = GlobalLpPool(x)", {{"x", {2, 2}}}),
    of("SimplifiedLayerNormalization",
       "y = SimplifiedLayerNormalization(x, g) {axis=1}",
       {{"x", {2, 3, 4}}, {"g", {3, 4}}}),
    of("SkipSimplifiedLayerNormalization",
       "y = com.microsoft.SkipSimplifiedLayerNormalization(x, s, g, b) {epsilon=0.01}",
       {{"x", {2, 3, 4}}, {"s", {1, 3, 4}}, {"g", {4}}, {"b", {4}}}),
    of("SkipSimplifiedLayerNormalizationSum",
       "n, _, _, s = com.microsoft.SkipSimplifiedLayerNormalization(x, k, g)\ny = Mul(n, s)",
       {{"x", {2, 4}}, {"k", {2, 4}}, {"g", {4}}}),
    of("RMSNormalization", "y = RMSNormalization(x, g)", {{"x", {2, 3, 4}}, {"g", {4}}}, 23),
};

const Problem kPlaces[] = {
    of("TopK", "const k: i64[1] = [2]\ny, i = TopK(x, k) {axis=1}", {{"x", {2, 4, 2}}}),
    of("TopKSmallest", "const k: i64[1] = [3]\ny, i = TopK(x, k) {largest=0}", {{"x", {2, 4}}}),
    of("TopKOfAttribute", "y, i = TopK(x) {k=2}", {{"x", {2, 4}}}, 9),
    of("Compress", "const c: bool[3] = [1, 0, 1]\ny = Compress(x, c) {axis=1}", {{"x", {2, 4, 2}}}),
    of("CompressFlat", "const c: bool[5] = [0, 1, 1, 0, 1]\ny = Compress(x, c)", {{"x", {2, 4}}}),
    of("ReverseSequence",
       "const n: i64[3] = [1, 4, 2]\ny = ReverseSequence(x, n)",
       {{"x", {4, 3, 2}}}),
    of("ReverseSequenceByBatch",
       "const n: i64[2] = [3, 0]\ny = ReverseSequence(x, n) {batch_axis=0, time_axis=1}",
       {{"x", {2, 3}}}),
    of("CumProd", "const a: i64[] = [1]\ny = CumProd(x, a)", {{"x", {2, 4}}}, 26),
    of("CumProdExclusiveReverse",
       "const a: i64[] = [-2]\ny = CumProd(x, a) {exclusive=1, reverse=1}",
       {{"x", {4, 2}}},
       26),
    of("Scatter",
       "const i: i64[1, 2] = [1, 2]\ny = Scatter(x, i, u) {axis=1}",
       {{"x", {2, 3}}, {"u", {1, 2}}},
       9),
    of("ScatterElementsAdd",
       "const i: i64[2, 3] = [1, -1, 1, 0, 0, 1]\ny = ScatterElements(x, i, u) {axis=1, "
       "reduction=\"add\"}",
       {{"x", {2, 3}}, {"u", {2, 3}}},
       18),
    of("ScatterElementsMul",
       "const i: i64[2, 3] = [1, -1, 1, 0, 0, 1]\ny = ScatterElements(x, i, u) {axis=1, "
       "reduction=\"mul\"}",
       {{"x", {2, 3}}, {"u", {2, 3}}},
       18),
    of("ScatterElementsMax",
       "const i: i64[2, 3] = [1, -1, 1, 0, 0, 1]\ny = ScatterElements(x, i, u) {axis=1, "
       "reduction=\"max\"}",
       {{"x", {2, 3}}, {"u", {2, 3}}},
       18),
    of("ScatterElementsMin",
       "const i: i64[2, 2] = [1, 0, 1, 0]\ny = ScatterElements(x, i, u) {reduction=\"min\"}",
       {{"x", {2, 3}}, {"u", {2, 2}}},
       18),
    of("ScatterNDAdd",
       "const i: i64[3, 1] = [2, 0, -1]\ny = ScatterND(x, i, u) {reduction=\"add\"}",
       {{"x", {3, 2}}, {"u", {3, 2}}},
       18),
    of("ScatterNDMul",
       "const i: i64[2, 2, 2] = [0, 1, 2, 0, 0, -1, 1, 1]\ny = ScatterND(x, i, u) "
       "{reduction=\"mul\"}",
       {{"x", {3, 2, 2}}, {"u", {2, 2, 2}}},
       18),
    of("ScatterNDMax",
       "const i: i64[3, 1] = [2, 0, 2]\ny = ScatterND(x, i, u) {reduction=\"max\"}",
       {{"x", {3, 2}}, {"u", {3, 2}}},
       18),
    of("ScatterNDMin",
       "const i: i64[2, 2] = [2, 0, 1, 1]\ny = ScatterND(x, i, u) {reduction=\"min\"}",
       {{"x", {3, 2}}, {"u", {2}}},
       18),
    of("PadReflect",
       "const p: i64[6] = [0, 2, 1, 0, 1, 2]\ny = Pad(x, p) {mode=\"reflect\"}",
       {{"x", {2, 3, 4}}}),
    of("PadEdge",
       "const p: i64[4] = [2, -1, 0, 3]\ny = Pad(x, p) {mode=\"edge\"}",
       {{"x", {2, 3}}}),
    of("PadWrap",
       "const p: i64[2] = [4, 1]\nconst a: i64[1] = [-1]\ny = Pad(x, p, _, a) {mode=\"wrap\"}",
       {{"x", {2, 3}}},
       19),
    of("PadReflectOfAttribute",
       "y = Pad(x) {mode=\"reflect\", pads=[0, 3, 0, 2]}",
       {{"x", {2, 3}}},
       9),
    of("CenterCropPad",
       "const s: i64[2] = [2, 7]\ny = CenterCropPad(x, s) {axes=[1, -1]}",
       {{"x", {2, 5, 4}}},
       18),
    of("CenterCropPadOfAll",
       "const s: i64[2] = [4, 1]\ny = CenterCropPad(x, s)",
       {{"x", {3, 4}}},
       18),
    of("Col2Im",
       "const i: i64[2] = [4, 5]\nconst b: i64[2] = [2, 3]\n"
       "y = Col2Im(x, i, b) {strides=[2, 1], pads=[1, 0, 0, 1], dilations=[1, 1]}",
       {{"x", {1, 12, 8}}},
       18),
    of("Col2ImOfOneAxis",
       "const i: i64[1] = [5]\nconst b: i64[1] = [2]\ny = Col2Im(x, i, b) {dilations=[2]}",
       {{"x", {2, 4, 3}}},
       18),
};

const Problem kLosses[] = {
    of("NegativeLogLikelihoodLoss",
       "const l: i64[3] = [0, 3, 1]\ny = NegativeLogLikelihoodLoss(x, l)",
       {{"x", {3, 4}}}),
    of("NegativeLogLikelihoodLossOfPlaces",
       "const l: i64[2, 3] = [0, 1, 1, 0, 2, 7]\ny = NegativeLogLikelihoodLoss(x, l, w) "
       "{ignore_index=7, reduction=\"none\"}",
       {{"x", {2, 3, 3}}, {"w", {3}}}),
    of("SoftmaxCrossEntropyLoss",
       "const l: i64[3] = [0, 3, 1]\ny = SoftmaxCrossEntropyLoss(x, l)",
       {{"x", {3, 4}}}),
    of("SoftmaxCrossEntropyLossWeighted",
       "const w: f64[3] = [0.5, 2, 1]\nconst l: i32[2, 3] = [0, 1, 1, 0, -1, 2]\n"
       "y = SoftmaxCrossEntropyLoss(x, l, w) {ignore_index=-1}",
       {{"x", {2, 3, 3}}}),
    of("SoftmaxCrossEntropyLossSum",
       "const l: i64[3] = [0, 3, 1]\nloss, p = SoftmaxCrossEntropyLoss(x, l) "
       "{reduction=\"sum\"}\ny = Add(loss, p)",
       {{"x", {3, 4}}}),
};

const Problem kFused[] = {
    of("FusedMatMul",
       "y = com.microsoft.FusedMatMul(a, b) {transA=1, transB=1, alpha=0.5}",
       {{"a", {2, 3, 4}}, {"b", {5, 3}}}),
    of("FusedMatMulOfBatches",
       "y = com.microsoft.FusedMatMul(a, b) {transBatchA=1, transBatchB=1, transB=1}",
       {{"a", {3, 2, 4}}, {"b", {5, 2, 4}}}),
    of("FusedConv",
       "y = com.microsoft.FusedConv(x, w, b, z) {activation=\"LeakyRelu\", "
       "activation_params=[0.2], pads=[1, 0, 0, 0]}",
       {{"x", {1, 2, 4, 4}}, {"w", {3, 2, 3, 3}}, {"b", {3}}, {"z", {1, 3, 3, 2}}}),
    of("FusedConvClip",
       "y = com.microsoft.FusedConv(x, w) {activation=\"Clip\", activation_params=[-1.0, 2.5]}",
       {{"x", {1, 2, 5}}, {"w", {3, 2, 3}}}),
    of("FusedGemm",
       "y = com.microsoft.FusedGemm(a, b, c) {transB=1, activation=\"HardSigmoid\", "
       "activation_alpha=0.3, activation_beta=0.4}",
       {{"a", {3, 4}}, {"b", {2, 4}}, {"c", {2}}}),
    of("FusedGemmAlone", "y = com.microsoft.FusedGemm(a, b)", {{"a", {3, 4}}, {"b", {4, 2}}}),
};

Problem attention(const char* name,
                  const std::string& attributes,
                  const std::string& constants = "",
                  const char* mask = "") {
  return of(name, constants + "y = Attention(q, k, v" + mask + ") {" + attributes + "}",
            {{"q", {2, 4, 3, 2}}, {"k", {2, 2, 5, 2}}, {"v", {2, 2, 5, 3}}}, 24);
}

const Problem kAttention[] = {
    attention("Grouped", "scale=0.8"),
    attention("Causal", "is_causal=1"),
    attention("Capped", "softcap=0.7"),
    attention("CappedCausal", "softcap=0.7, is_causal=1"),
    attention("BlindRow",
              "softcap=0.5",
              "const m: bool[3, 5] = [1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1]\n",
              ", m"),
    attention("BlindRowFused",
              "scale=0.9",
              "const m: bool[3, 5] = [1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1]\n",
              ", m"),
    attention("ShortMask",
              "is_causal=1",
              "const m: f64[1, 3, 4] = [0, 1, 2, 3, 0, 1, 1, 1, -1, 0, 0, 0]\n",
              ", m"),
    attention("Lengths", "is_causal=1", "const n: i64[2] = [5, 4]\n", ", _, _, _, n"),
    of("MaskIsLearned",
       "y = Attention(q, k, v, m) {q_num_heads=2, kv_num_heads=2}",
       {{"q", {2, 3, 4}}, {"k", {2, 4, 4}}, {"v", {2, 4, 6}}, {"m", {2, 3, 4}}},
       23),
    of("Past",
       "a, pk, pv = Attention(q, k, v, _, p, r) {q_num_heads=2, kv_num_heads=1, is_causal=1}\n"
       "s = ReduceSum(pv) {keepdims=0}\nt = ReduceSum(pk) {keepdims=0}\nu = Mul(a, s)\ny = Add(u, "
       "t)",
       {{"q", {1, 2, 4}},
        {"k", {1, 2, 2}},
        {"v", {1, 2, 3}},
        {"p", {1, 1, 3, 2}},
        {"r", {1, 1, 3, 3}}},
       23),
    of("ScoresShown",
       "a, _, _, y = Attention(q, k, v) {qk_matmul_output_mode=3, is_causal=1}",
       {{"q", {1, 2, 3, 2}}, {"k", {1, 2, 3, 2}}, {"v", {1, 2, 3, 2}}},
       23),
    of("OfMicrosoft",
       "const m: i32[2, 3] = [1, 1, 0, 1, 0, 1]\ny = com.microsoft.Attention(x, w, b, m, _, a) "
       "{num_heads=2, mask_filter_value=-5.0, unidirectional=1}",
       {{"x", {2, 3, 4}}, {"w", {4, 12}}, {"b", {12}}, {"a", {1, 2, 3, 3}}}),
    of("OfMicrosoftLengths",
       "const m: i32[4] = [3, 2, 0, 1]\ny = com.microsoft.Attention(x, w, b, m) {num_heads=2, "
       "qkv_hidden_sizes=[4, 4, 6], scale=0.9}",
       {{"x", {2, 3, 4}}, {"w", {4, 14}}, {"b", {14}}}),
    of("OfMicrosoftWithoutMask",
       "const m: i32[1, 1] = [1]\ny = com.microsoft.Attention(x, w, b, m) {num_heads=1}",
       {{"x", {2, 3, 2}}, {"w", {2, 6}}, {"b", {6}}}),
    of("MultiHead",
       "const m: i32[2, 4] = [1, 1, 1, 0, 1, 0, 1, 1]\n"
       "y = com.microsoft.MultiHeadAttention(q, k, v, b, m, a) {num_heads=2}",
       {{"q", {2, 3, 4}}, {"k", {2, 4, 4}}, {"v", {2, 4, 6}}, {"b", {14}}, {"a", {2, 1, 3, 4}}}),
    of("MultiHeadPast",
       "h, pk, pv = com.microsoft.MultiHeadAttention(q, k, v, _, _, _, p, r) {num_heads=2, "
       "unidirectional=1}\ns = ReduceSum(pk) {keepdims=0}\nt = ReduceSum(pv) {keepdims=0}\n"
       "u = Mul(h, s)\ny = Add(u, t)",
       {{"q", {1, 2, 4}},
        {"k", {1, 2, 4}},
        {"v", {1, 2, 4}},
        {"p", {1, 2, 1, 2}},
        {"r", {1, 2, 1, 2}}}),
    of("MultiHeadOfOthersKeys",
       "const n: i32[1] = [3]\ny = com.microsoft.MultiHeadAttention(q, k, v, _, n) {num_heads=2}",
       {{"q", {1, 2, 4}}, {"k", {1, 2, 4, 2}}, {"v", {1, 2, 4, 3}}}),
    of("EmbedLayerNormalization",
       "const i: i32[2, 3] = [0, 4, 1, 1, 2, 3]\nconst s: i32[2, 3] = [0, 0, 1, 0, 1, 1]\n"
       "y = com.microsoft.EmbedLayerNormalization(i, s, w, p, t, g, b) {epsilon=0.01}",
       {{"w", {5, 4}}, {"p", {3, 4}}, {"t", {2, 4}}, {"g", {4}}, {"b", {4}}}),
    of("EmbedLayerNormalizationOfPlaces",
       "const i: i32[2, 3] = [0, 4, 1, 1, 2, 3]\nconst n: i32[1, 3] = [2, 0, 1]\n"
       "h, _, s = com.microsoft.EmbedLayerNormalization(i, _, w, p, _, g, b, _, n)\ny = Mul(h, s)",
       {{"w", {5, 4}}, {"p", {3, 4}}, {"g", {4}}, {"b", {4}}}),
    of("RotaryEmbedding",
       "y = RotaryEmbedding(x, c, s)",
       {{"x", {2, 2, 3, 4}}, {"c", {2, 3, 2}}, {"s", {2, 3, 2}}},
       23),
    of("RotaryEmbeddingOfPlaces",
       "const i: i64[2, 3] = [0, 1, 2, 3, 1, 0]\ny = RotaryEmbedding(x, c, s, i) {num_heads=2, "
       "rotary_embedding_dim=4, interleaved=1}",
       {{"x", {2, 3, 12}}, {"c", {4, 2}}, {"s", {4, 2}}},
       23),
    of("RotaryEmbeddingOfMicrosoft",
       "const i: i64[1] = [1]\ny = com.microsoft.RotaryEmbedding(x, i, c, s)",
       {{"x", {2, 3, 8}}, {"c", {4, 2}}, {"s", {4, 2}}}),
};

INSTANTIATE_TEST_SUITE_P(NormsAndPools,
                         RareGradient,
                         testing::ValuesIn(kNormsAndPools),
                         test::name_of);
INSTANTIATE_TEST_SUITE_P(Places, RareGradient, testing::ValuesIn(kPlaces), test::name_of);
INSTANTIATE_TEST_SUITE_P(Losses, RareGradient, testing::ValuesIn(kLosses), test::name_of);
INSTANTIATE_TEST_SUITE_P(Fused, RareGradient, testing::ValuesIn(kFused), test::name_of);
INSTANTIATE_TEST_SUITE_P(Attention, RareGradient, testing::ValuesIn(kAttention), test::name_of);

} // namespace
} // namespace octet
