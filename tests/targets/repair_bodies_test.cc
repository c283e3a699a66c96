// SPDX-License-Identifier: Apache-2.0
// repair in the bodies of If, Loop and Scan: refused, repaired, accepted, and the same numbers in
// the reference and in ONNX Runtime, for each branch. Codes that cross the border of a body stay
// codes of the same meaning on both sides.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "ops/infer.h"
#include "passes/edit_bodies.h"
#include "targets/findings.h"
#include "targets/run_onnxruntime.h"
#include <gtest/gtest.h>

#include "octet/graph_text.h"
#include "octet/onnx.h"
#include "octet/repair.h"

namespace octet {
namespace {

/// Off the ties between the codes of the files below.
Tensor body_input() {
  return Tensor::of<float>({2, 4}, {0.12F, 12.73F, -12.84F, 1.23F, -6.33F, 5.44F, 0.04F, -3.01F});
}

constexpr const char* kBodyHeader = R"(graph g opset(""=17)
input x: f32[2, 4]
const w: i8[4, 3] = [1, -2, 3, 4, 5, -6, 7, 8, 9, -10, 11, 127]
const ws: f32[3] = [0.01, 0.02, 0.03]
const wz: i8[3] = [0, 0, 0]
const b: i32[3] = [1000, -2000, 30]
const bs: f32[3] = [0.001, 0.002, 0.003]
const bz: i32[3] = [0, 0, 0]
const kernel: i8[2, 1, 3, 3] = [1, 2, 3, -4, 5, 6, 7, -8, 9, 9, 8, 7, 6, -5, 4, 3, 2, 1]
const ks: f32[2] = [0.05, 0.02]
const kz: i8[2] = [0, 0]
const kb: i32[2] = [100, -100]
const kbs: f32[2] = [0.005, 0.002]
const kbz: i32[2] = [0, 0]
const square: i8[4, 4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]
const squares: f32[4] = [0.01, 0.01, 0.02, 0.01]
const squarez: i8[4] = [0, 0, 0, 0]
const yes: bool[] = [1]
const three: i64[] = [3]
const none: f32[] = [0]
const image: i64[4] = [1, 1, 2, 4]
m = ReduceMax(x) {keepdims=0}
)";

/// Weights and an int32 bias from around the body; int8 codes or uint8 ones with a zero point.
std::string product(const std::string& codes, const std::string& result) {
  return R"(  capture x: f32[2, 4]
  capture w: i8[4, 3]
  capture ws: f32[3]
  capture wz: i8[3]
  capture b: i32[3]
  capture bs: f32[3]
  capture bz: i32[3]
  const s: f32[] = [0.1]
  const z: )" +
         codes + R"(
  q = QuantizeLinear(x, s, z)
  d = DequantizeLinear(q, s, z)
  wd = DequantizeLinear(w, ws, wz) {axis=1}
  bd = DequantizeLinear(b, bs, bz) {axis=0}
  p = MatMul(d, wd)
  )" + result +
         R"( = Add(p, bd)
)";
}

std::string convolution(const std::string& codes, const std::string& result) {
  return R"(  capture x: f32[2, 4]
  capture image: i64[4]
  capture kernel: i8[2, 1, 3, 3]
  capture ks: f32[2]
  capture kz: i8[2]
  capture kb: i32[2]
  capture kbs: f32[2]
  capture kbz: i32[2]
  const s: f32[] = [0.1]
  const z: )" +
         codes + R"(
  r = Reshape(x, image)
  q = QuantizeLinear(r, s, z)
  d = DequantizeLinear(q, s, z)
  wd = DequantizeLinear(kernel, ks, kz) {axis=0}
  bd = DequantizeLinear(kb, kbs, kbz) {axis=0}
  )" + result +
         R"( = Conv(d, wd, bd) {pads=[1, 1, 1, 1]}
)";
}

std::string choice(const std::string& threshold,
                   const std::string& then_body,
                   const std::string& else_body,
                   const std::string& type) {
  return "const threshold: f32[] = [" + threshold + "]\npick = Greater(m, threshold)\n" +
         "y = If(pick) {then_branch={ graph a\n" + then_body + "  output t: " + type +
         "\n}, else_branch={ graph e\n" + else_body + "  output u: " + type +
         "\n}} \"choice\"\noutput y: " + type + "\n";
}

/// x' = x Q/DQ square, three times.
std::string step(const std::string& codes) {
  return R"(  const s: f32[] = [0.1]
  const z: )" +
         codes + R"(
  capture square: i8[4, 4]
  capture squares: f32[4]
  capture squarez: i8[4]
  q = QuantizeLinear(v, s, z)
  d = DequantizeLinear(q, s, z)
  sd = DequantizeLinear(square, squares, squarez) {axis=1}
)";
}

struct BodyFile {
  const char* name;
  std::string text;
  double error;                     ///< of the output
  std::vector<const char*> changes; ///< paths to what has to be changed
  ZeroPointForm zero_points = ZeroPointForm::kShift;
};

constexpr const char* kQuantizedOutside = R"(const s: f32[] = [0.1]
const z: u8[] = [37]
q = QuantizeLinear(x, s, z)
const threshold: f32[] = [0]
pick = Greater(m, threshold)
y = If(pick) {then_branch={ graph a
  capture q: u8[2, 4]
  capture s: f32[]
  capture z: u8[]
  t = DequantizeLinear(q, s, z)
  output t: f32[2, 4]
}, else_branch={ graph e
  capture q: u8[2, 4]
  capture s: f32[]
  capture z: u8[]
  d = DequantizeLinear(q, s, z)
  u = Relu(d)
  output u: f32[2, 4]
}} "choice"
output y: f32[2, 4]
)";

/// From x: f32[2, 4] to y. The errors of what is coded anew with a wider scale: half a step of each
/// times the largest sum of a channel's weights.
std::vector<BodyFile> body_files() {
  const std::string loop = "y, all = Loop(three, yes, x) {body={ graph turn\n  input i: i64[]\n"
                           "  input go: bool[]\n  input v: f32[2, 4]\n" +
                           step("u8[] = [137]") +
                           "  still = Identity(go)\n  n = MatMul(d, sd)\n  c = Identity(n)\n"
                           "  output still: bool[]\n  output n: f32[2, 4]\n"
                           "  output c: f32[2, 4]\n}} \"turns\"\noutput y: f32[2, 4]\n";
  const std::string scan = "const rows: f32[4] = [0, 0, 0, 0]\n"
                           "last, y = Scan(rows, x) {num_scan_inputs=1, body={ graph row\n"
                           "  input carried: f32[4]\n  input v: f32[4]\n" +
                           step("u8[] = [100]") +
                           "  n = MatMul(d, sd)\n  c = Add(carried, n)\n  o = Add(n, carried)\n"
                           "  output c: f32[4]\n  output o: f32[4]\n}} \"scan\"\n"
                           "output y: f32[2, 4]\n";
  const std::string inner =
      "  capture pick: bool[]\n  capture x: f32[2, 4]\n  capture w: i8[4, 3]\n"
      "  capture ws: f32[3]\n  capture wz: i8[3]\n  capture b: i32[3]\n  capture bs: f32[3]\n"
      "  capture bz: i32[3]\n  t = If(pick) {then_branch={ graph aa\n" +
      product("u8[] = [37]", "tt") + "  output tt: f32[2, 3]\n}, else_branch={ graph ae\n" +
      product("u8[] = [128]", "te") + "  output te: f32[2, 3]\n}} \"inner\"\n";
  std::vector<BodyFile> out;
  for (const auto& [branch, threshold] : {std::pair{"then", "0"}, std::pair{"else", "100"}}) {
    const bool first = std::string_view(branch) == "then";
    const auto add = [&](const char* a, const char* b, const std::string& text, double error,
                         std::vector<const char*> changes,
                         ZeroPointForm form = ZeroPointForm::kShift) {
      out.push_back({first ? a : b, kBodyHeader + text, error, std::move(changes), form});
    };
    const std::string p128 = product("u8[] = [128]", "t"), p37 = product("u8[] = [37]", "u");
    add("matmul_then", "matmul_else", choice(threshold, p128, p37, "f32[2, 3]"), 0,
        {"choice/then_branch/q", "choice/else_branch/q", "choice/then_branch/bd",
         "choice/else_branch/bd"});
    add("wider_then", "wider_else", choice(threshold, p128, p37, "f32[2, 3]"),
        first ? 0 : (0.1 + 0.1716536) / 2 * 4.17 + 9.1, {"choice/else_branch/q"},
        ZeroPointForm::kWiden);
    const std::string c128 = convolution("u8[] = [128]", "t"),
                      c100 = convolution("u8[] = [100]", "u");
    add("conv_then", "conv_else", choice(threshold, c128, c100, "f32[1, 2, 2, 4]"),
        first ? 0 : (0.1 + 15.5 / 127) / 2 * 2.25,
        {"choice/then_branch/q", "choice/else_branch/q", "choice/then_branch/bd"});
    add("nested_then", "nested_else", choice(threshold, inner, p37, "f32[2, 3]"), 0,
        {"choice/then_branch/inner/then_branch/q", "choice/then_branch/inner/else_branch/q",
         "choice/else_branch/q"});
  }
  for (const char* threshold : {"0", "100"}) {
    std::string text = std::string(kBodyHeader) + kQuantizedOutside;
    const std::string_view first = "threshold: f32[] = [0]";
    text.replace(text.find(first), first.size(),
                 std::string("threshold: f32[] = [") + threshold + "]");
    const bool taken = std::string_view(threshold) == "0";
    out.push_back({taken ? "outside_then" : "outside_else", text, 0, {"q"}});
  }
  out.push_back({"loop", kBodyHeader + loop, 0, {"turns/body/q"}});
  out.push_back({"scan", kBodyHeader + scan, 0, {"scan/body/q"}});
  return out;
}

std::string all_of(const std::vector<Finding>& findings) {
  std::string out;
  for (const Finding& f : findings)
    out += f.rule + " at " + f.node + ": " + f.message + " | " + f.fix + "\n";
  return out;
}

Tensor result_of(const Graph& graph) {
  const std::vector<Tensor> x = {body_input()};
  return make_reference_executor(graph).value()->run(x).value().at(0);
}

double largest_of(const std::vector<double>& values) {
  double out = 0;
  for (const double v : values)
    out = std::max(out, std::abs(v));
  return out;
}

Repaired repaired_body(const BodyFile& file, const Graph& graph) {
  RepairOptions options;
  options.zero_points = file.zero_points;
  return repair(graph, "tensorrt-10", options).value();
}

TEST(RepairBodies, RefusedThenAcceptedWithTheSameNumbers) {
  for (const BodyFile& file : body_files()) {
    SCOPED_TRACE(file.name);
    const Graph graph = parse_graph(file.text).value();
    EXPECT_FALSE(accepted(check(graph, "tensorrt-10").value()));
    const Repaired repaired = repaired_body(file, graph);
    EXPECT_TRUE(accepted(repaired.left)) << all_of(repaired.left);
    for (const char* path : file.changes)
      EXPECT_TRUE(std::any_of(repaired.changes.begin(), repaired.changes.end(),
                              [&](const Change& c) { return c.node == path; }))
          << path;
    const auto was = result_of(graph).to_doubles().value();
    const auto is = result_of(repaired.graph).to_doubles().value();
    ASSERT_EQ(was.size(), is.size());
    for (size_t i = 0; i < was.size(); ++i)
      EXPECT_NEAR(was[i], is[i], file.error + 1e-5 * (1 + largest_of(was))) << "element " << i;
  }
}

TEST(RepairBodies, OnnxRuntimeRunsEachBranchBeforeAndAfter) {
  const std::string folder = ::testing::TempDir() + "octet_repair_bodies";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(write_tensor_proto({"x", body_input()}, folder + "/x.pb").ok());
  for (const BodyFile& file : body_files()) {
    Graph graph = parse_graph(file.text).value();
    Graph after = repaired_body(file, graph).graph;
    ASSERT_TRUE(infer_types(graph).ok() && infer_types(after).ok());
    ASSERT_TRUE(save_onnx(graph, folder + "/" + file.name + ".before.onnx").ok());
    ASSERT_TRUE(save_onnx(after, folder + "/" + file.name + ".after.onnx").ok());
  }
  const nlohmann::json results = test::run_onnxruntime(folder);
  ASSERT_TRUE(results.is_object());
  for (const BodyFile& file : body_files()) {
    SCOPED_TRACE(file.name);
    const nlohmann::json& before = results.at(std::string(file.name) + ".before");
    const nlohmann::json& after = results.at(std::string(file.name) + ".after");
    ASSERT_FALSE(before.contains("error")) << before.value("error", "");
    ASSERT_FALSE(after.contains("error")) << after.value("error", "");
    const auto was = before.at("output").get<std::vector<double>>();
    const auto is = after.at("output").get<std::vector<double>>();
    ASSERT_EQ(was.size(), is.size());
    for (size_t i = 0; i < was.size(); ++i)
      EXPECT_NEAR(was[i], is[i], file.error + 1e-5 * (1 + largest_of(was))) << "element " << i;
  }
  std::filesystem::remove_all(folder);
}

constexpr const char* kQuantizedInside = R"(const s: f32[] = [0.1]
const z: u8[] = [37]
const threshold: f32[] = [0]
pick = Greater(m, threshold)
q = If(pick) {then_branch={ graph a
  capture x: f32[2, 4]
  capture s: f32[]
  capture z: u8[]
  t = QuantizeLinear(x, s, z)
  output t: u8[2, 4]
}, else_branch={ graph e
  capture x: f32[2, 4]
  capture s: f32[]
  capture z: u8[]
  r = Relu(x)
  u = QuantizeLinear(r, s, z)
  output u: u8[2, 4]
}} "choice"
y = DequantizeLinear(q, s, z)
output y: f32[2, 4]
)";

constexpr const char* kCarried = R"(const s: f32[] = [0.1]
const z: u8[] = [37]
q = QuantizeLinear(x, s, z)
l, all = Loop(three, yes, q) {body={ graph turn
  input i: i64[]
  input go: bool[]
  input v: u8[2, 4]
  capture s: f32[]
  capture z: u8[]
  d = DequantizeLinear(v, s, z)
  h = Neg(d)
  n = QuantizeLinear(h, s, z)
  still = Identity(go)
  c = Identity(n)
  output still: bool[]
  output n: u8[2, 4]
  output c: u8[2, 4]
}} "turns"
y = DequantizeLinear(l, s, z)
output y: f32[2, 4]
)";

/// Also with a scale that no rule may mend on one side only.
TEST(RepairBodies, CodesThatCrossTheBorderMeanTheSameAndTheFindingSaysWhy) {
  for (const char* body : {kQuantizedOutside, kQuantizedInside, kCarried})
    for (const char* scale : {"[0.1]", "[-0.1]"})
      for (const char* point : {"[37]", "[128]"}) {
        std::string text = std::string(kBodyHeader) + body;
        SCOPED_TRACE(text);
        // What can be dequantized outside is repaired there, see above.
        if (body == kQuantizedOutside && std::string_view(scale) == "[0.1]") continue;
        text.replace(text.find("s: f32[] = [0.1]"), 16, std::string("s: f32[] = ") + scale);
        text.replace(text.find("z: u8[] = [37]"), 14, std::string("z: u8[] = ") + point);
        const Graph graph = parse_graph(text).value();
        const Repaired repaired = repair(graph, "tensorrt-10").value();
        EXPECT_FALSE(accepted(repaired.left));
        for (const Finding& f : repaired.left) {
          if (f.severity != Severity::kError) continue;
          EXPECT_NE(f.fix.find("cross the border of a body"), std::string::npos)
              << f.rule << " at " << f.node << ": " << f.fix;
        }
        EXPECT_TRUE(result_of(repaired.graph).identical(result_of(graph)));
      }
}

/// Data measures what stands outside and leaves the bounds of what stands in a body.
TEST(RepairBodies, DataMeasuresOutputsOnly) {
  const BodyFile file = body_files().front();
  RepairOptions options;
  options.data = [] {
    auto done = std::make_shared<bool>(false);
    return [done]() -> Result<std::optional<std::vector<Tensor>>> {
      if (std::exchange(*done, true)) return std::optional<std::vector<Tensor>>();
      return std::optional(std::vector<Tensor>{body_input()});
    };
  };
  const Repaired repaired = repair(parse_graph(file.text).value(), "tensorrt-10", options).value();
  EXPECT_TRUE(accepted(repaired.left)) << all_of(repaired.left);
  for (const Change& change : repaired.changes)
    EXPECT_FALSE(change.measured) << change.rule << " at " << change.node;
  ASSERT_EQ(repaired.outputs.size(), 1U);
  EXPECT_LT(repaired.outputs[0].max_error, 1e-3);
}

TEST(RepairBodies, SaysThatNoDataShowsWhatABodyComputes) {
  const Graph graph = parse_graph(std::string(kBodyHeader) + R"(const threshold: f32[] = [0]
pick = Greater(m, threshold)
y = If(pick) {then_branch={ graph a
  capture x: f32[2, 4]
  q, s, z = DynamicQuantizeLinear(x) "dynamic"
  t = DequantizeLinear(q, s, z)
  output t: f32[2, 4]
}, else_branch={ graph e
  capture x: f32[2, 4]
  u = Relu(x)
  output u: f32[2, 4]
}} "choice"
output y: f32[2, 4]
)")
                          .value();
  const Repaired repaired = repair(graph, "tensorrt-10").value();
  EXPECT_FALSE(accepted(repaired.left));
  bool said = false;
  for (const Finding& f : repaired.left)
    said = said || f.fix.find("data does not show what the body") != std::string::npos;
  EXPECT_TRUE(said) << all_of(repaired.left);
}

/// Types that do not fit: a scale of integers is mended before types are inferred; a branch that
/// fits nothing (it is never taken) stays to the bit.
TEST(RepairBodies, MendsTypesAndLeavesABodyThatFitsNothing) {
  const auto file = [](const char* branch) {
    return parse_graph(std::string(kBodyHeader) +
                       "const threshold: f32[] = [0]\npick = Greater(m, threshold)\n"
                       "y = If(pick) {then_branch={ graph a\n  capture x: f32[2, 4]\n" +
                       branch +
                       "  output t: f32[2, 4]\n}, else_branch={ graph e\n  capture x: f32[2, 4]\n"
                       "  const s: f32[] = [0.1]\n  const z: u8[] = [128]\n"
                       "  q = QuantizeLinear(x, s, z)\n  u = DequantizeLinear(q, s, z)\n"
                       "  output u: f32[2, 4]\n}} \"choice\"\noutput y: f32[2, 4]\n")
        .value();
  };
  const Repaired mended = repair(file("  const s: i32[] = [1]\n  const z: i8[] = [0]\n"
                                      "  q = QuantizeLinear(x, s, z) \"odd\"\n"
                                      "  t = DequantizeLinear(q, s, z)\n"),
                                 "tensorrt-10")
                              .value();
  EXPECT_TRUE(accepted(mended.left)) << all_of(mended.left);
  EXPECT_EQ(mended.changes.at(0).rule, "convert_scale");
  EXPECT_EQ(mended.changes.at(0).node, "choice/then_branch/odd");
  const Graph unfit = file("  const v: f32[3, 3] = [1, 2, 3, 4, 5, 6, 7, 8, 9]\n"
                           "  const s: f32[] = [0.1]\n  const z: u8[] = [37]\n"
                           "  q = QuantizeLinear(v, s, z)\n  d = DequantizeLinear(q, s, z)\n"
                           "  t = MatMul(x, d)\n");
  const Repaired left = repair(unfit, "tensorrt-10").value();
  EXPECT_FALSE(accepted(left.left));
  bool said = false;
  for (const Finding& f : left.left)
    said = said || f.fix.find("types of this body do not fit") != std::string::npos;
  EXPECT_TRUE(said) << all_of(left.left);
  const auto body_of = [](const Graph& graph) {
    for (const NodeId id : graph.nodes())
      if (const Attribute* a = graph.node(id).attr("then_branch"))
        return std::get<GraphPtr>(a->value)->content_hash();
    return uint64_t{0};
  };
  EXPECT_EQ(body_of(left.graph), body_of(unfit));
}

/// What repair makes has a name that nothing around it or within it has.
TEST(RepairBodies, NewNamesHideNone) {
  const Graph graph = parse_graph(std::string(kBodyHeader) + R"(const threshold: f32[] = [0]
pick = Greater(m, threshold)
const s: f32[] = [0.1]
const z: u8[] = [37]
q = QuantizeLinear(x, s, z) "same"
d = DequantizeLinear(q, s, z) "same_dq"
y = If(pick) {then_branch={ graph a
  capture d: f32[2, 4]
  const same_scale: f32[] = [0.1]
  const same_zero_point: u8[] = [100]
  iq = QuantizeLinear(d, same_scale, same_zero_point) "same"
  t = DequantizeLinear(iq, same_scale, same_zero_point) "same_dq"
  output t: f32[2, 4]
}, else_branch={ graph e
  capture d: f32[2, 4]
  u = Relu(d)
  output u: f32[2, 4]
}} "choice"
output y: f32[2, 4]
)")
                          .value();
  const Repaired repaired = repair(graph, "tensorrt-10").value();
  EXPECT_TRUE(accepted(repaired.left)) << all_of(repaired.left);
  const auto was = result_of(graph).to_doubles().value();
  const auto is = result_of(repaired.graph).to_doubles().value();
  for (size_t i = 0; i < was.size(); ++i)
    EXPECT_NEAR(was[i], is[i], 1e-5 * (1 + largest_of(was)));
  const TakenNames outer = names_of(repaired.graph, nullptr);
  for (const NodeId id : repaired.graph.nodes())
    if (const Attribute* a = repaired.graph.node(id).attr("then_branch")) {
      const Graph& body = *std::get<GraphPtr>(a->value);
      for (int32_t i = 0; i < body.value_bound(); ++i) {
        const Value& v = body.value(ValueId{i});
        const bool lives = v.kind == ValueKind::kConstant || v.producer.valid();
        EXPECT_FALSE(lives && outer.contains(v.name)) << v.name;
      }
    }
}

} // namespace
} // namespace octet
