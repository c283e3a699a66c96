// SPDX-License-Identifier: Apache-2.0
// A graph written for another operator set, up and down between 13 and 23, computes the same; what
// has no counterpart is named.
#include "passes/pass_support.h"
#include <gtest/gtest.h>

#include "octet/export.h"

namespace octet {
namespace {

using test::expect_same_numbers;
using test::parse;

Graph at(const Graph& graph, int64_t version) {
  Graph out = graph;
  const auto notes = convert_opset(out, version);
  EXPECT_TRUE(notes.ok()) << version << ": " << (notes.ok() ? "" : notes.error().text());
  EXPECT_EQ(out.opset(), version);
  return out;
}

std::string refusal(const Graph& graph, int64_t version) {
  Graph out = graph;
  const uint64_t hash = out.content_hash();
  const auto notes = convert_opset(out, version);
  EXPECT_FALSE(notes.ok());
  EXPECT_EQ(out.content_hash(), hash) << "the graph must be unchanged";
  return notes.ok() ? "" : notes.error().text();
}

Graph transformer() {
  return parse(R"(graph g opset(""=23)
input x: f32[2, 4]
const gain: f32[4] = [1.5, 0.5, -1, 2]
const bias: f32[4] = [0.1, 0.2, -0.3, 0]
const axes: i64[1] = [-1]
a = LayerNormalization(x, gain, bias) {axis=-1, epsilon=1e-5} "norm"
b = Gelu(a) {} "gelu"
c = Gelu(b) {approximate="tanh"} "gelu_new"
d = RMSNormalization(c, gain) {epsilon=1e-5} "rms"
e = Mish(d) "mish"
f = HardSwish(e) "swish"
m = ReduceMean(f, axes) {keepdims=1} "mean"
h = Sub(f, m) "centered"
y = CastLike(h, x) "cast"
output y: f32[2, 4]
)");
}

/// Operators of com.microsoft belong to no operator set of ONNX: they are the file's own choice,
/// and none comes in unasked.
TEST(ConvertOpset, ReadsTypesBehindWhatItReplaced) {
  const Graph g = parse(R"(graph g opset(""=10)
input x: f32[1, 2, 3, 4]
s = Softmax(x) {axis=1}
y = Clip(s) {min=0.05, max=0.1}
output y: f32[1, 2, 3, 4]
)");
  expect_same_numbers(g, at(g, 13), 1e-6);
}

/// ONNX Runtime's own operator in ONNX's domain, which no change log names.
TEST(ConvertOpset, SimplifiedLayerNormalizationIsTheSameEverywhere) {
  const Graph g = parse(R"(graph g opset(""=11)
input x: f32[2, 4]
const gain: f32[4] = [1, 0.5, 2, -1]
y = SimplifiedLayerNormalization(x, gain) {epsilon=0.01}
output y: f32[2, 4]
)");
  for (const int64_t version : {13, 17, 21})
    expect_same_numbers(g, at(g, version), 1e-6);
}

TEST(ConvertOpset, GeluOfMicrosoftStaysAndNoneComes) {
  const Graph graph = parse(R"(graph g opset(""=20, "com.microsoft"=1, "foreign"=1)
input x: f32[2, 4]
a = com.microsoft.Gelu(x) "theirs"
b = com.microsoft.FastGelu(a) "fast"
y = Gelu(b) "gelu"
output y: f32[2, 4]
)");
  const Graph older = at(graph, 17);
  std::vector<std::string> microsofts;
  for (const NodeId id : older.nodes()) {
    EXPECT_FALSE(older.node(id).is("Gelu"));
    if (older.node(id).domain == "com.microsoft") microsofts.push_back(older.node(id).name);
  }
  EXPECT_EQ(microsofts, (std::vector<std::string>{"theirs", "fast"}));
  expect_same_numbers(graph, older, 1e-6);
  const Graph untyped = parse(R"(graph g opset(""=20, "com.microsoft"=1, "foreign"=1)
input x: f32[2, 4]
a = foreign.Unheard(x) "foreign"
y = Gelu(a) "gelu"
output y: f32[2, 4]
)");
  EXPECT_NE(refusal(untyped, 17).find("\"gelu\""), std::string::npos);
}

TEST(ConvertOpset, ChainsTakeThePlaceOfLaterOperators) {
  const Graph graph = transformer();
  for (int64_t version = 22; version >= 13; --version) {
    SCOPED_TRACE(version);
    const Graph older = at(graph, version);
    for (const NodeId id : older.nodes()) {
      EXPECT_EQ(older.node(id).domain, "");
      EXPECT_FALSE(version < 20 && older.node(id).is("Gelu"));
      EXPECT_FALSE(version < 17 && older.node(id).is("LayerNormalization"));
    }
    expect_same_numbers(graph, older, 2e-6);
  }
}

TEST(ConvertOpset, UpAgainIsTheSameMeaning) {
  const Graph oldest = at(transformer(), 13);
  for (int64_t version = 14; version <= 23; ++version)
    expect_same_numbers(oldest, at(oldest, version), 0);
}

TEST(ConvertOpset, InputsBecomeAttributes) {
  const Graph graph = parse(R"(graph g opset(""=18)
input x: f32[2, 5]
const axes: i64[1] = [1]
const pads: i64[2] = [1, 2]
const zero: f32[] = [0]
a, b = Split(x) {axis=1, num_outputs=2} "parts"
c = ReduceMax(a, axes) {keepdims=1} "max"
d = ReduceSumSquare(b, axes) {keepdims=1} "squares"
e = Add(c, d) "sum"
y = Pad(e, pads, zero, axes) "pad"
output y: f32[2, 4]
)");
  for (const int64_t version : {13, 15, 17})
    expect_same_numbers(graph, at(graph, version), 0);
}

/// Modes of GridSample have other names from 20 on, the one that nobody names too.
TEST(ConvertOpset, ModesOfGridSampleAreNamedAsTheSetDoes) {
  const auto sampled = [](int64_t version, const std::string& mode) {
    return parse("graph g opset(\"\"=" + std::to_string(version) +
                 ")\ninput x: f32[2, 3, 4, 5]\ninput grid: f32[2, 6, 3, 2]\n"
                 "y = GridSample(x, grid) {padding_mode=\"border\"" +
                 mode + "} \"sample\"\noutput y: f32[2, 3, 6, 3]\n");
  };
  const auto mode_of = [](const Graph& graph) {
    return graph.node(*graph.find_node("sample")).attr_string("mode", "");
  };
  for (const auto& [images, any] :
       {std::pair("bilinear", "linear"), {"bicubic", "cubic"}, {"nearest", "nearest"}, {"", ""}}) {
    const auto attribute = [](const std::string& mode) {
      return mode.empty() ? mode : ", mode=\"" + mode + "\"";
    };
    const Graph older = sampled(16, attribute(images)), later = sampled(22, attribute(any));
    for (const int64_t version : {17, 19, 20, 23}) {
      const Graph raised = at(older, version);
      EXPECT_EQ(mode_of(raised), version < 20 ? images : any);
      expect_same_numbers(older, raised, 0);
    }
    for (const int64_t version : {20, 19, 17}) {
      const Graph reduced = at(later, version);
      const std::string expected = version < 20 && *any != 0 ? images : any;
      EXPECT_EQ(mode_of(reduced), expected);
      expect_same_numbers(later, reduced, 0);
    }
  }
  const Graph volumes = parse(R"(graph g opset(""=20)
input x: f32[1, 1, 2, 2, 2]
input grid: f32[1, 2, 2, 2, 3]
y = GridSample(x, grid) {} "sample"
output y: f32[1, 1, 2, 2, 2]
)");
  at(volumes, 23);
  EXPECT_NE(refusal(volumes, 19).find("samples images alone"), std::string::npos);
}

TEST(ConvertOpset, PartsOfShapesBecomeSlices) {
  const Graph graph = parse(R"(graph g opset(""=15)
input x: f32[2, 3, 4]
s = Shape(x) {start=1, end=3} "part"
y = Cast(s) {to=1} "cast"
output y: f32[2]
)");
  expect_same_numbers(graph, at(graph, 13), 0);
}

TEST(ConvertOpset, ErrorsNameTheNodeAndTheReason) {
  const Graph half = parse(R"(graph g opset(""=19)
input x: f16[2]
const s: f16[] = [0.5]
const z: i8[] = [0]
y = QuantizeLinear(x, s, z) "quantize"
output y: i8[2]
)");
  EXPECT_NE(refusal(half, 17).find("QuantizeLinear \"quantize\""), std::string::npos);
  EXPECT_NE(refusal(half, 17).find("f32 only"), std::string::npos);
  const Graph groups = parse(R"(graph g opset(""=21)
input x: f32[1, 4, 2]
const s: f32[4] = [1, 1, 1, 1]
y = GroupNormalization(x, s, s) {num_groups=2} "groups"
output y: f32[1, 4, 2]
)");
  EXPECT_NE(refusal(groups, 17).find("came with 18"), std::string::npos);
  const Graph reshape = parse(R"(graph g opset(""=14)
input x: f32[0, 2]
const shape: i64[2] = [0, 2]
y = Reshape(x, shape) {allowzero=1} "empty"
output y: f32[0, 2]
)");
  EXPECT_NE(refusal(reshape, 13).find("allowzero = 1"), std::string::npos);
  EXPECT_NE(refusal(reshape, 26).find("between 13 and 25"), std::string::npos);
  EXPECT_NE(refusal(reshape, 12).find("between 13 and 25"), std::string::npos);
}

/// Codes of 16 and of 4 bits came with 21, FP8 with 19; bf16 in Conv with 22.
TEST(ConvertOpset, TypesThatTheOlderSetLacksAreRefused) {
  const auto pair = [](const std::string& type, const std::string& zero) {
    return parse("graph g opset(\"\"=21)\ninput x: f32[4]\nconst s: f32[] = [0.5]\nconst z: " +
                 type + "[] = [" + zero +
                 "]\nq = QuantizeLinear(x, s, z) \"quantize\"\nd = DequantizeLinear(q, s, z)\n"
                 "output d: f32[4]\n");
  };
  for (const char* type : {"u16", "i16", "u4", "i4"}) {
    SCOPED_TRACE(type);
    const std::string why = refusal(pair(type, "1"), 20);
    EXPECT_NE(why.find("QuantizeLinear \"quantize\""), std::string::npos) << why;
    EXPECT_NE(why.find(type), std::string::npos) << why;
    EXPECT_NE(why.find("operator set 21 does"), std::string::npos) << why;
  }
  EXPECT_NE(refusal(pair("f8e4m3fn", "0"), 18).find("operator set 19 does"), std::string::npos);
  at(pair("f8e4m3fn", "0"), 19);
  at(pair("u8", "1"), 13);
  const Graph conv = parse(R"(graph g opset(""=22)
input x: bf16[1, 1, 4]
input w: bf16[1, 1, 3]
y = Conv(x, w) "conv"
output y: bf16[1, 1, 2]
)");
  EXPECT_NE(refusal(conv, 21).find("bf16 as input \"x\"; operator set 22 does"), std::string::npos);
}

} // namespace
} // namespace octet
