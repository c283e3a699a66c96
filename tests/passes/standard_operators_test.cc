// SPDX-License-Identifier: Apache-2.0
// Operators of com.microsoft against what they are written as, by the reference.
#include "graph/label.h"
#include "passes/pass_support.h"

namespace octet {
namespace {

using test::expect_same_numbers;
using test::parse;

void expect_standard(const Graph& before) {
  test::expect_standard(before, 1e-5);
}

/// A constant of small numbers that follow no pattern.
std::string constant(const std::string& name, const std::string& shape, int count) {
  std::string out = "const " + name + ": f32" + shape + " = [";
  for (int i = 0; i < count; ++i)
    out += (i == 0 ? "" : ", ") + std::to_string((i * 37 + 11) % 19 * 0.1 - 0.9);
  return out + "]\n";
}

TEST(StandardOperators, SkipLayerNormalization) {
  for (const char* opset : {"13", "17", "18"}) {
    SCOPED_TRACE(opset);
    expect_standard(
        parse(std::string("graph g opset(\"\"=") + opset + ", \"com.microsoft\"=1)\n" +
              "input x: f32[2, 3, 4]\ninput s: f32[2, 3, 4]\n" + constant("gain", "[4]", 4) +
              constant("beta", "[4]", 4) + constant("b", "[4]", 4) +
              "y, m, d, sum = com.microsoft.SkipLayerNormalization(x, s, gain, beta, b) "
              "{epsilon=0.001}\noutput y: f32[2, 3, 4]\noutput sum: f32[2, 3, 4]\n"));
  }
  for (const char* inputs : {"input x: f32[1, 3, 4]\ninput s: f32[2, 3, 4]\n",
                             "input x: f32[3, 4]\ninput s: f32[2, 1, 4]\n",
                             "input x: f32[2, 3, 4]\ninput s: f32[3, 4]\n"}) {
    SCOPED_TRACE(inputs);
    expect_standard(parse("graph g opset(\"\"=17, \"com.microsoft\"=1)\n" + std::string(inputs) +
                          constant("gain", "[4]", 4) +
                          "y, m, d, sum = com.microsoft.SkipLayerNormalization(x, s, gain)\n"
                          "output y: f32[2, 3, 4]\noutput sum: f32[2, 3, 4]\n"));
  }
}

TEST(StandardOperators, EmbedLayerNormalization) {
  expect_standard(parse("graph g opset(\"\"=14, \"com.microsoft\"=1)\n"
                        "input ids: i32[N, S]\ninput kinds: i32[N, S]\ninput mask: i32[N, S]\n" +
                        constant("word", "[2, 4]", 8) + constant("position", "[5, 4]", 20) +
                        constant("segment", "[2, 4]", 8) + constant("gain", "[4]", 4) +
                        constant("beta", "[4]", 4) +
                        "y, index = com.microsoft.EmbedLayerNormalization(ids, kinds, word, "
                        "position, segment, gain, beta, mask)\n"
                        "output y: f32[N, S, 4]\noutput index: i32[N]\n"));
}

TEST(StandardOperators, EveryGelu) {
  for (const char* opset : {"13", "20"})
    for (const char* call : {"BiasGelu(x, b)", "Gelu(x)", "FastGelu(x, b)", "FastGelu(x)"}) {
      SCOPED_TRACE(std::string(call) + " at " + opset);
      expect_standard(parse(std::string("graph g opset(\"\"=") + opset +
                            ", \"com.microsoft\"=1)\ninput x: f32[2, 3, 4]\n" +
                            constant("b", "[4]", 4) + "y = com.microsoft." + call +
                            "\noutput y: f32[2, 3, 4]\n"));
    }
}

TEST(StandardOperators, AttentionWithEachMask) {
  for (const char* mask : {"", "[N]", "[N, 3]", "[N, 3, 3]"}) {
    SCOPED_TRACE(mask);
    const bool masked = mask[0] != '\0';
    expect_standard(parse("graph g opset(\"\"=17, \"com.microsoft\"=1)\ninput x: f32[N, 3, 4]\n" +
                          (masked ? "input m: i32" + std::string(mask) + "\n" : "") +
                          constant("w", "[4, 12]", 48) + constant("b", "[12]", 12) +
                          "y = com.microsoft.Attention(x, w, b" + (masked ? ", m" : "") +
                          ") {num_heads=2}\noutput y: f32[N, 3, 4]\n"));
  }
}

TEST(StandardOperators, AttentionWithOtherColumnsForValues) {
  expect_standard(parse("graph g opset(\"\"=13, \"com.microsoft\"=1)\ninput x: f32[2, 3, 4]\n"
                        "input extra: f32[1, 2, 3, 3]\n" +
                        constant("w", "[4, 14]", 56) +
                        "y = com.microsoft.Attention(x, w, _, _, _, extra) {num_heads=2, "
                        "qkv_hidden_sizes=[4, 4, 6], scale=0.25}\noutput y: f32[2, 3, 6]\n"));
}

TEST(StandardOperators, RmsNormalizations) {
  for (const char* opset : {"13", "18", "23"}) {
    SCOPED_TRACE(opset);
    const std::string head = std::string("graph g opset(\"\"=") + opset +
                             ", \"com.microsoft\"=1)\ninput x: f32[2, 3, 4]\n" +
                             constant("gain", "[4]", 4) + constant("b", "[4]", 4);
    expect_standard(parse(head + "y = SimplifiedLayerNormalization(x, gain) {epsilon=0.001}\n"
                                 "output y: f32[2, 3, 4]\n"));
    expect_standard(parse(head + "input s: f32[2, 3, 4]\n" +
                          "y, m, d, sum = com.microsoft.SkipSimplifiedLayerNormalization(x, s, "
                          "gain, b) {epsilon=0.001}\n"
                          "output y: f32[2, 3, 4]\noutput sum: f32[2, 3, 4]\n"));
  }
}

TEST(StandardOperators, QuickGelu) {
  expect_standard(parse("graph g opset(\"\"=13, \"com.microsoft\"=1)\ninput x: f32[N, 4]\n"
                        "y = com.microsoft.QuickGelu(x) {alpha=1.5}\noutput y: f32[N, 4]\n"));
}

TEST(StandardOperators, CausalAttention) {
  expect_standard(parse("graph g opset(\"\"=17, \"com.microsoft\"=1)\ninput x: f32[N, 3, 4]\n"
                        "input m: i32[N, 3]\n" +
                        constant("w", "[4, 12]", 48) + constant("b", "[12]", 12) +
                        "y = com.microsoft.Attention(x, w, b, m) {num_heads=2, unidirectional=1}\n"
                        "output y: f32[N, 3, 4]\n"));
}

struct HeadsCase {
  const char* inputs;
  const char* call;
};

TEST(StandardOperators, MultiHeadAttention) {
  const char* plain = "input k: f32[N, 5, 4]\ninput v: f32[N, 5, 6]\n";
  const char* past = "input k: f32[N, 3, 4]\ninput v: f32[N, 3, 4]\ninput pk: f32[N, 2, 2, 2]\n"
                     "input pv: f32[N, 2, 2, 2]\n";
  for (const HeadsCase& c :
       {HeadsCase{plain, "(x, k, v) {num_heads=2, scale=0.3}"},
        HeadsCase{"input k: f32[N, 5, 4]\ninput v: f32[N, 5, 6]\ninput m: i32[N]\n",
                  "(x, k, v, _, m) {num_heads=2, mask_filter_value=-4.0}"},
        HeadsCase{"input k: f32[N, 5, 4]\ninput v: f32[N, 5, 6]\ninput m: i32[N, 5]\n",
                  "(x, k, v, b, m) {num_heads=2, mask_filter_value=-2.5}"},
        HeadsCase{"input k: f32[N, 5, 4]\ninput v: f32[N, 5, 6]\ninput m: i32[N, 3, 5]\n"
                  "input a: f32[1, 2, 3, 5]\n",
                  "(x, k, v, _, m, a) {num_heads=2, unidirectional=1, mask_filter_value=-4.0}"},
        HeadsCase{"input k: f32[N, 2, 5, 2]\ninput v: f32[N, 2, 5, 3]\n",
                  "(x, k, v) {num_heads=2}"},
        HeadsCase{past, "(x, k, v, _, _, _, pk, pv) {num_heads=2, unidirectional=1}"}}) {
    SCOPED_TRACE(c.call);
    const bool kept = std::string(c.inputs) == past;
    std::string text = "graph g opset(\"\"=17, \"com.microsoft\"=1)\ninput x: f32[N, 3, 4]\n";
    text += c.inputs + constant("b", "[14]", 14);
    text += (kept ? "y, nk, nv" : "y") + std::string(" = com.microsoft.MultiHeadAttention") +
            c.call + "\noutput y: f32[*]\n";
    if (kept) text += "output nk: f32[*]\noutput nv: f32[*]\n";
    expect_standard(parse(text));
  }
}

TEST(StandardOperators, RotaryEmbedding) {
  for (const char* kind : {"", ", interleaved=1"})
    for (const HeadsCase& c :
         {HeadsCase{"f32[N, 3, 16]", "num_heads=2"}, HeadsCase{"f32[N, 2, 3, 8]", "num_heads=0"},
          HeadsCase{"f32[N, 3, 24]", "num_heads=2, rotary_embedding_dim=8"}})
      for (const char* places : {"i64[N, 3]", "i64[1]"}) {
        SCOPED_TRACE(std::string(c.inputs) + c.call + places + kind);
        expect_standard(parse(
            std::string("graph g opset(\"\"=13, \"com.microsoft\"=1)\ninput x: ") + c.inputs +
            "\ninput p: " + places + "\n" + constant("cos", "[5, 4]", 20) +
            constant("sin", "[5, 4]", 20) + "y = com.microsoft.RotaryEmbedding(x, p, cos, sin) {" +
            c.call + kind + "}\noutput y: " + c.inputs + "\n"));
      }
}

TEST(StandardOperators, BlocksOfCodes) {
  std::string text = "graph g opset(\"\"=17, \"com.microsoft\"=1)\ninput x: f32[N, 20]\n" +
                     constant("s", "[3, 2]", 6) + constant("b", "[3]", 3);
  for (const auto& [name, shape, count] : {std::tuple{"w", "[3, 2, 8]", 48}, {"z", "[3, 1]", 3}}) {
    text += std::string("const ") + name + ": u8" + shape + " = [";
    for (int i = 0; i < count; ++i)
      text += (i == 0 ? "" : ", ") + std::to_string((i * 97 + 13) % 256);
    text += "]\n";
  }
  expect_standard(parse(text +
                        "y = com.microsoft.MatMulNBits(x, w, s, z, _, b) {N=3, K=20, bits=4, "
                        "block_size=16}\noutput y: f32[N, 3]\n"));
}

TEST(StandardOperators, FusedProducts) {
  for (const char* kind :
       {"activation=\"Relu\"", "activation=\"Clip\", activation_params=[-0.5, 0.4]",
        "activation=\"HardSigmoid\", activation_params=[0.3, 0.4]"})
    for (const char* opset : {"10", "13"}) {
      SCOPED_TRACE(std::string(kind) + opset);
      expect_standard(parse(std::string("graph g opset(\"\"=") + opset +
                            ", \"com.microsoft\"=1)\ninput x: f32[N, 2, 5, 5]\n"
                            "input z: f32[N, 3, 3, 3]\n" +
                            constant("w", "[3, 2, 3, 3]", 54) + constant("b", "[3]", 3) +
                            "y = com.microsoft.FusedConv(x, w, b, z) {" + kind +
                            "}\noutput y: f32[N, 3, 3, 3]\n"));
    }
  expect_standard(parse("graph g opset(\"\"=13, \"com.microsoft\"=1)\ninput x: f32[N, 4]\n" +
                        constant("w", "[4, 3]", 12) + constant("b", "[3]", 3) +
                        "y = com.microsoft.FusedGemm(x, w, b) {activation=\"LeakyRelu\", "
                        "activation_alpha=0.3, alpha=0.5}\noutput y: f32[N, 3]\n"));
}

/// The graph after the rules: no node of it makes or reads a sequence.
Graph resolved(const std::string& body) {
  Graph graph = parse("graph g opset(\"\"=17)\ninput x: f32[2, 6]\ninput z: f32[2, 6]\n" + body);
  const auto steps = rewrite(graph, standard_operator_rules(),
                             {.max_steps = -1, .log = {}, .verify = VerifyAfter::kSteps});
  EXPECT_TRUE(steps.ok()) << (steps.ok() ? "" : steps.error().text());
  graph.remove_dead();
  for (const NodeId id : graph.nodes())
    EXPECT_EQ(std::string::npos, graph.node(id).op_type.find("Sequence")) << graph.node(id).op_type;
  return graph;
}

void expect_resolved(const std::string& with_sequences, const std::string& without) {
  SCOPED_TRACE(with_sequences);
  expect_same_numbers(
      parse("graph g opset(\"\"=17)\ninput x: f32[2, 6]\ninput z: f32[2, 6]\n" + without),
      resolved(with_sequences), 0);
}

TEST(StandardOperators, SequencesWhoseElementsAreKnown) {
  const std::string out = "output y: f32[*]\n";
  const std::string one = "const one: i64[] = [1]\n", last = "const last: i64[] = [-1]\n";
  expect_resolved(last + "s = SequenceConstruct(x, z)\ny = SequenceAt(s, last)\n" + out,
                  "y = Identity(z)\n" + out);
  expect_resolved(
      one + last +
          "e = SequenceEmpty()\na = SequenceInsert(e, x)\nb = SequenceInsert(a, z, one)\n"
          "c = SequenceInsert(b, z, last)\nd = SequenceErase(c, one)\n"
          "y = ConcatFromSequence(d) {axis=1}\n" +
          out,
      "y = Concat(x, z) {axis=1}\n" + out);
  expect_resolved("s = SequenceConstruct(x, z)\ny = ConcatFromSequence(s) {axis=-1, new_axis=1}\n" +
                      out,
                  "const a: i64[1] = [2]\nu = Unsqueeze(x, a)\nv = Unsqueeze(z, a)\n"
                  "y = Concat(u, v) {axis=2}\n" +
                      out);
  const std::string part = "const b: i64[1] = [4]\nconst e: i64[1] = [6]\nconst a: i64[1] = [1]\n"
                           "y = Slice(x, b, e, a)\n" +
                           out;
  expect_resolved(one +
                      "const n: i64[] = [4]\ns = SplitToSequence(x, n) {axis=1}\n"
                      "y = SequenceAt(s, one)\n" +
                      out,
                  part);
  expect_resolved(last +
                      "const n: i64[3] = [1, 3, 2]\ns = SplitToSequence(x, n) {axis=-1}\n"
                      "y = SequenceAt(s, last)\n" +
                      out,
                  part);
  expect_resolved(one + "s = SplitToSequence(x) {axis=1, keepdims=0}\ny = SequenceAt(s, one)\n" +
                      out,
                  one + "y = Gather(x, one) {axis=1}\n" + out);
  expect_resolved("s = SplitToSequence(x) {axis=1}\ny = SequenceLength(s)\noutput y: i64[]\n",
                  "const six: i64[] = [6]\ny = Identity(six)\noutput y: i64[]\n");
}

TEST(StandardOperators, SequencesOfOddPlacesStay) {
  for (const char* body :
       {"const far: i64[] = [2]\ns = SequenceConstruct(x, z)\ny = SequenceAt(s, far)\n",
        "const far: i64[] = [-3]\ns = SequenceConstruct(x, z)\ny = SequenceAt(s, far)\n",
        "const n: i64[2] = [5, 5]\nconst at: i64[] = [0]\ns = SplitToSequence(x, n) {axis=1}\n"
        "y = SequenceAt(s, at)\n",
        "const n: i64[] = [0]\nconst at: i64[] = [0]\ns = SplitToSequence(x, n) {axis=1}\n"
        "y = SequenceAt(s, at)\n"}) {
    SCOPED_TRACE(body);
    Graph graph =
        parse(std::string("graph g opset(\"\"=17)\ninput x: f32[2, 6]\ninput z: f32[2, 6]\n") +
              body + "output y: f32[*]\n");
    const auto steps = rewrite(graph, standard_operator_rules(), {.max_steps = -1, .log = {}});
    ASSERT_TRUE(steps.ok()) << steps.error().text();
    EXPECT_TRUE(steps->empty());
  }
}

std::string
codes(const std::string& name, const std::string& type, const std::string& shape, int count) {
  std::string out = "const " + name + ": " + type + shape + " = [";
  for (int i = 0; i < count; ++i)
    out += (i == 0 ? "" : ", ") + std::to_string((i * 37 + 11) % 97);
  return out + "]\n";
}

TEST(StandardOperators, AttentionWithStoredWeights) {
  for (const bool channels : {false, true}) {
    SCOPED_TRACE(channels);
    const std::string shape = channels ? "[12]" : "[]";
    const int count = channels ? 12 : 1;
    std::string scales = "const s: f32" + shape + " = [";
    for (int i = 0; i < count; ++i)
      scales += (i == 0 ? "" : ", ") + std::to_string(0.01 + 0.003 * i);
    expect_standard(parse("graph g opset(\"\"=17, \"com.microsoft\"=1)\ninput x: f32[N, 3, 4]\n" +
                          codes("c", "i8", "[4, 12]", 48) + scales + "]\n" +
                          codes("z", "i8", shape, count) + codes("d", "i32", "[12]", 12) +
                          "const t: f32[] = [0.01]\nw = DequantizeLinear(c, s, z) {axis=1}\n"
                          "b = DequantizeLinear(d, t)\n"
                          "y = com.microsoft.Attention(x, w, b) {num_heads=2}\n"
                          "output y: f32[N, 3, 4]\n"));
  }
}

TEST(StandardOperators, AttentionOnCodes) {
  struct Case {
    const char* scale;
    const char* zero;
    const char* mask;
  };
  for (const Case& c :
       {Case{"f32[] = [0.001]", "_", ""}, Case{"f32[] = [0.001]", "i8[] = [3]", "[N]"},
        Case{"f32[12]", "i8[12]", "[N, 3]"}, Case{"f32[12]", "_", "[N, 3, 3]"}}) {
    SCOPED_TRACE(std::string(c.scale) + c.zero + c.mask);
    const bool columns = c.scale[4] != ']', masked = c.mask[0] != '\0', moved = c.zero[0] != '_';
    std::string text = "graph g opset(\"\"=17, \"com.microsoft\"=1)\ninput x: u8[N, 3, 4]\n";
    if (masked) text += "input m: i32" + std::string(c.mask) + "\n";
    text += codes("w", "i8", "[4, 12]", 48) + constant("b", "[12]", 12);
    text += "const sx: f32[] = [0.02]\nconst zx: u8[] = [117]\n";
    if (columns) {
      text += "const sw: f32[12] = [0.001, 0.002, 0.003, 0.001, 0.002, 0.003, 0.001, 0.002, 0.003, "
              "0.01, "
              "0.02, 0.03]\n";
      if (moved) text += codes("zw", "i8", "[12]", 12);
    } else {
      text += "const sw: " + std::string(c.scale) + "\n";
      if (moved) text += "const zw: " + std::string(c.zero) + "\n";
    }
    text += std::string("y = com.microsoft.QAttention(x, w, b, sx, sw, ") + (masked ? "m" : "_") +
            ", zx" + (moved ? ", zw" : "") + ") {num_heads=2}\noutput y: f32[N, 3, 4]\n";
    expect_standard(parse(text));
  }
}

TEST(StandardOperators, AttentionOnCodesWhoseScaleIsComputed) {
  for (const bool columns : {false, true}) {
    SCOPED_TRACE(columns);
    const std::string shape = columns ? "[12]" : "[]";
    const int count = columns ? 12 : 1;
    std::string scales = "const sw: f32" + shape + " = [";
    for (int i = 0; i < count; ++i)
      scales += (i == 0 ? "" : ", ") + std::to_string(0.01 + 0.003 * i);
    const Graph came =
        parse("graph g opset(\"\"=14, \"com.microsoft\"=1)\ninput x: f32[2, 3, 4]\n"
              "input m: i32[2, 3]\n" +
              codes("w", "u8", "[4, 12]", 48) + constant("b", "[12]", 12) + scales + "]\n" +
              codes("zw", "u8", shape, count) + "q, sx, zx = DynamicQuantizeLinear(x)\n" +
              "y = com.microsoft.QAttention(q, w, b, sx, sw, m, zx, zw) {num_heads=2}\n"
              "output y: f32[2, 3, 4]\n");
    Graph integer = came;
    const Rule rules[] = {{"decompose_integer_attention", decompose_integer_attention}};
    ASSERT_TRUE(rewrite(integer, rules).ok());
    int sums = 0;
    for (const NodeId id : integer.nodes())
      sums += integer.node(id).is("MatMulInteger") ? 1 : 0;
    EXPECT_EQ(sums, 3);
    expect_same_numbers(came, integer, 1e-5);
  }
}

TEST(StandardOperators, EmbeddingOfCodes) {
  Graph coded = parse(
      "graph g opset(\"\"=14, \"com.microsoft\"=1)\ninput ids: i32[2, 3]\ninput kinds: i32[2, 3]\n"
      "input mask: i32[2, 3]\n" +
      codes("word", "u8", "[2, 4]", 8) + codes("position", "u8", "[5, 4]", 20) +
      codes("segment", "u8", "[2, 4]", 8) + codes("gain", "u8", "[4]", 4) +
      codes("beta", "u8", "[4]", 4) +
      "const s: f32[] = [0.03125]\nconst z: u8[] = [32]\n"
      "y, index = com.microsoft.QEmbedLayerNormalization(ids, kinds, word, position, segment, "
      "gain, "
      "beta, mask, s, s, s, s, s, z, z, z, z, z)\noutput y: f32[2, 3, 4]\noutput index: i32[2]\n");
  ASSERT_TRUE(rewrite(coded, standard_operator_rules()).ok());
  for (const NodeId id : coded.nodes())
    EXPECT_EQ(coded.node(id).domain, "") << label(coded, coded.node(id));
  const auto values = [](const std::string& name, const std::string& shape, int count) {
    std::string out = "const " + name + ": f32" + shape + " = [";
    for (int i = 0; i < count; ++i)
      out += (i == 0 ? "" : ", ") + std::to_string(((i * 37 + 11) % 97 - 32) / 32.0);
    return out + "]\n";
  };
  const Graph plain = parse(
      "graph g opset(\"\"=14, \"com.microsoft\"=1)\ninput ids: i32[2, 3]\ninput kinds: i32[2, 3]\n"
      "input mask: i32[2, 3]\n" +
      values("word", "[2, 4]", 8) + values("position", "[5, 4]", 20) +
      values("segment", "[2, 4]", 8) + values("gain", "[4]", 4) + values("beta", "[4]", 4) +
      "y, index = com.microsoft.EmbedLayerNormalization(ids, kinds, word, position, segment, gain, "
      "beta, mask)\noutput y: f32[2, 3, 4]\noutput index: i32[2]\n");
  expect_same_numbers(plain, coded, 1e-5);
}

TEST(StandardOperators, FusedMatMul) {
  for (const char* attributes : {"{alpha=0.125, transB=1}", "{transA=1, transB=1}",
                                 "{transBatchA=1, transBatchB=1, transB=1}", "{alpha=2.0}"}) {
    SCOPED_TRACE(attributes);
    expect_standard(parse("graph g opset(\"\"=17, \"com.microsoft\"=1)\ninput a: f32[3, 3, 3]\n"
                          "input b: f32[3, 3, 3]\ny = com.microsoft.FusedMatMul(a, b) " +
                          std::string(attributes) + "\noutput y: f32[3, 3, 3]\n"));
  }
}

TEST(StandardOperators, ActivationsOfFusedProducts) {
  struct Case {
    const char* call;
    const char* after;
  };
  for (const Case& c :
       {Case{"FusedGemm(x, w, b) {activation=\"Relu\", transB=1}", "Gemm Relu"},
        Case{"FusedGemm(x, w, b) {activation=\"LeakyRelu\", activation_alpha=0.1}",
             "Gemm LeakyRelu"},
        Case{"FusedConv(x, w, b, z) {activation=\"Relu\"}", "Conv Add Relu"},
        Case{"FusedConv(x, w) {activation=\"Clip\", activation_params=[0.0, 6.0]}", "Conv Clip"},
        Case{"FusedConv(x, w) {activation=\"Unheard\"}", "FusedConv"}}) {
    SCOPED_TRACE(c.call);
    Graph g = parse(std::string("graph g opset(\"\"=17, \"com.microsoft\"=1)\ninput x: f32[*]\n"
                                "input w: f32[*]\ninput b: f32[*]\ninput z: f32[*]\n"
                                "y = com.microsoft.") +
                    c.call + "\noutput y: f32[*]\n");
    ASSERT_TRUE(rewrite(g, standard_operator_rules()).ok());
    std::string ops;
    const std::vector<NodeId> nodes = g.topological().value();
    for (const NodeId id : nodes)
      ops += (ops.empty() ? "" : " ") + g.node(id).op_type;
    EXPECT_EQ(ops, c.after);
  }
}

} // namespace
} // namespace octet
