// SPDX-License-Identifier: Apache-2.0
// repair: every bad file is refused by check with the right rule, repaired, accepted, and computes
// what it did, to the cost that the repair states.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "targets/bad_files.h"
#include "targets/findings.h"
#include <gtest/gtest.h>

#include "octet/graph_text.h"
#include "octet/repair.h"

namespace octet {
namespace {

using test::bad_files;
using test::BadFile;
using test::parse_bad_file;

/// Values on and between codes, at and beyond the ends of the ranges.
std::vector<Tensor> inputs() {
  std::vector<Tensor> out;
  const auto add = [&](std::initializer_list<float> v) {
    out.push_back(Tensor::of<float>({2, 4}, v));
  };
  add({0, 0.1F, -0.1F, 0.04F, -0.04F, 1.23F, -1.23F, 3.3F});
  add({12.7F, 12.75F, 12.8F, -12.7F, -12.8F, -12.85F, 25.5F, 25.6F});
  add({1000, -1000, 6.3F, -6.35F, 6.4F, 0.05F, 0.15F, -0.25F});
  add({-0.95F, 7.77F, 19.99F, -19.99F, 5.05F, -5.05F, 0.001F, -0.001F});
  return out;
}

std::function<CalibrationSource()> data() {
  return [] {
    auto next = std::make_shared<size_t>(0);
    return [next]() -> Result<std::optional<std::vector<Tensor>>> {
      const std::vector<Tensor> all = inputs();
      if (*next >= all.size()) return std::optional<std::vector<Tensor>>();
      return std::optional(std::vector<Tensor>{all[(*next)++]});
    };
  };
}

RepairOptions options_for(const BadFile& file, bool wanted) {
  RepairOptions options;
  options.zero_points = file.zero_points;
  if (wanted) options.data = data();
  return options;
}

std::string text(const std::vector<Finding>& findings) {
  std::string out;
  for (const Finding& f : findings)
    out += f.rule + " at " + f.node + ": " + f.message + "\n";
  return out;
}

double difference(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape()) return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (int64_t i = 0; i < a.count(); ++i)
    worst = std::max(worst, std::abs(a.at(i) - b.at(i)));
  return worst;
}

std::vector<Tensor> run(const Graph& graph) {
  auto executor = make_reference_executor(graph).value();
  std::vector<Tensor> out;
  for (const Tensor& x : inputs())
    out.push_back(executor->run(std::vector<Tensor>{x}).value().at(0));
  return out;
}

/// -1: nothing is promised of the output.
void expect_within(const BadFile& file, const Graph& before, const Graph& after) {
  if (file.error < 0 || !file.valid_before) return;
  const std::vector<Tensor> was = run(before), is = run(after);
  for (size_t i = 0; i < was.size(); ++i)
    EXPECT_TRUE(file.error == 0 ? is[i].identical(was[i]) : difference(was[i], is[i]) <= file.error)
        << "input " << i << ": " << difference(was[i], is[i]);
}

TEST(Repair, EveryBadFileIsRefusedRepairedAcceptedAndComputesTheSame) {
  for (const BadFile& file : bad_files()) {
    SCOPED_TRACE(file.name);
    const Graph graph = parse_bad_file(file);
    const auto findings = check(graph, file.target).value();
    EXPECT_FALSE(accepted(findings));
    EXPECT_TRUE(test::has_rule(findings, file.rule)) << text(findings);
    const auto repaired = repair(graph, file.target, options_for(file, file.needs_data));
    if (*file.repair == 0) { // no model at all: refused there, and an error here
      EXPECT_FALSE(repaired.ok());
      continue;
    }
    ASSERT_TRUE(repaired.ok()) << repaired.error().text();
    EXPECT_TRUE(accepted(repaired->left)) << text(repaired->left);
    bool made = false;
    bool exact = true;
    for (const Change& change : repaired->changes) {
      made = made || change.rule == file.repair;
      exact = exact && change.exact;
      EXPECT_FALSE(change.why.empty());
      EXPECT_TRUE(!change.exact || change.max_error == 0);
    }
    EXPECT_TRUE(made);
    EXPECT_EQ(exact, file.error == 0);
    expect_within(file, graph, repaired->graph);
  }
}

/// Whether the output is a repaired value itself, so that its cost is the output's.
bool ends_in_codes(const Graph& graph) {
  for (const NodeId id : graph.nodes())
    for (const char* product : {"MatMul", "Conv", "Gemm"})
      if (graph.node(id).op_type.find(product) != std::string::npos) return false;
  return true;
}

TEST(Repair, StatesTheCostAsABoundAndMeasuresItOnData) {
  for (const BadFile& file : bad_files()) {
    if (file.error <= 0 || !file.valid_before) continue; // exact, or nothing is promised
    SCOPED_TRACE(file.name);
    const Graph graph = parse_bad_file(file);
    const Repaired bound = repair(graph, file.target, options_for(file, file.needs_data)).value();
    double stated = 0;
    for (const Change& change : bound.changes)
      stated += change.max_error.value_or(std::numeric_limits<double>::infinity());
    const std::vector<Tensor> was = run(graph), is = run(bound.graph);
    for (size_t i = 0; i < was.size() && ends_in_codes(graph); ++i)
      EXPECT_LE(difference(was[i], is[i]), stated * 1.0001) << "input " << i;
    const Repaired measured = repair(graph, file.target, options_for(file, true)).value();
    EXPECT_TRUE(accepted(measured.left));
    ASSERT_EQ(measured.outputs.size(), 1U);
    const std::vector<Tensor> with_data = run(measured.graph);
    double worst = 0;
    for (size_t i = 0; i < was.size(); ++i)
      worst = std::max(worst, difference(was[i], with_data[i]));
    EXPECT_DOUBLE_EQ(measured.outputs[0].max_error, worst);
  }
}

TEST(Repair, LeavesAcceptedFilesAlone) {
  const BadFile good = {"good", "q = QuantizeLinear(x, s, z)\ny = DequantizeLinear(q, s, z)", "",
                        ""};
  Graph graph = parse_bad_file(good);
  graph.info.ir_version = 8; // which every release reads
  for (const std::string_view target : target_names()) {
    const Repaired repaired = repair(graph, target).value();
    EXPECT_TRUE(repaired.changes.empty());
    EXPECT_EQ(repaired.graph.content_hash(), graph.content_hash());
  }
}

TEST(Repair, TurnsCodesThatComeInIntoValues) {
  for (const int zero : {0, 128, 200}) {
    SCOPED_TRACE(zero);
    const Graph graph =
        parse_graph("graph g opset(\"\"=17)\ninput x: u8[256]\nconst s: f32[] = [0.1]\n"
                    "const u: u8[] = [" +
                    std::to_string(zero) +
                    "]\nd = DequantizeLinear(x, s, u)\ny = Neg(d)\noutput y: f32[256]\n")
            .value();
    EXPECT_TRUE(test::has_rule(check(graph, "tensorrt-10").value(), "uint8-data"));
    const Repaired repaired = repair(graph, "tensorrt-10").value();
    EXPECT_TRUE(accepted(repaired.left)) << text(repaired.left);
    std::vector<uint8_t> codes(256);
    std::iota(codes.begin(), codes.end(), uint8_t{0});
    const std::vector<Tensor> x = {Tensor::of<uint8_t>({256}, std::span<const uint8_t>(codes))};
    const Tensor was = make_reference_executor(graph).value()->run(x).value().at(0);
    const Tensor is = make_reference_executor(repaired.graph).value()->run(x).value().at(0);
    EXPECT_TRUE(is.identical(was)) << difference(was, is);
  }
}

TEST(Repair, SaysWhatIsLeft) {
  const BadFile foreign = {"foreign", "y = com.microsoft.MurmurHash3(x)", "", ""};
  const Repaired repaired = repair(parse_bad_file(foreign), "tensorrt-10").value();
  EXPECT_TRUE(repaired.changes.empty());
  EXPECT_FALSE(accepted(repaired.left));
  EXPECT_FALSE(repair(parse_bad_file(foreign), "tensorrt-99").ok());
}

/// Repairs, expects acceptance without warnings and the same bits, and returns the graph.
Graph repaired_exactly(const Graph& graph, std::string_view target, WeightForm weights) {
  RepairOptions options;
  options.weights = weights;
  const Repaired repaired = repair(graph, target, options).value();
  EXPECT_TRUE(repaired.left.empty()) << text(repaired.left);
  EXPECT_FALSE(repaired.changes.empty());
  for (const Change& change : repaired.changes)
    EXPECT_TRUE(change.exact) << change.rule;
  const std::vector<Tensor> was = run(graph), is = run(repaired.graph);
  for (size_t i = 0; i < was.size(); ++i)
    EXPECT_TRUE(is[i].identical(was[i])) << "input " << i;
  return repaired.graph;
}

int count(const Graph& graph, std::string_view op) {
  int n = 0;
  for (const NodeId id : graph.nodes())
    n += graph.node(id).op_type == op ? 1 : 0;
  return n;
}

TEST(Repair, WritesWeightsInTheFormThatIsWanted) {
  const Graph stored = parse_bad_file(
      {"stored", "d = DequantizeLinear(w8, s4, z4) {axis=1}\ny = MatMul(x, d)", "", ""});
  const Graph in_float = repaired_exactly(stored, "tensorrt-8.6", WeightForm::kKeep);
  EXPECT_EQ(count(in_float, "QuantizeLinear"), 1);
  const Graph back = repaired_exactly(in_float, "tensorrt-10", WeightForm::kStored);
  EXPECT_EQ(count(back, "QuantizeLinear"), 0);
  EXPECT_TRUE(repair(in_float, "tensorrt-10").value().changes.empty());
}

TEST(Repair, SharesOrSplitsQuantizersAsTheTargetWants) {
  const Graph split = parse_bad_file(
      {"split",
       "p = QuantizeLinear(x, s, z)\nq = QuantizeLinear(x, s, z)\na = DequantizeLinear(p, s, z)\n"
       "b = DequantizeLinear(q, s, z)\nm = MatMul(a, w)\nn = MatMul(b, w)\ny = Add(m, n)",
       "", ""});
  const Graph shared = repaired_exactly(split, "tensorrt-10", WeightForm::kKeep);
  EXPECT_EQ(count(shared, "QuantizeLinear"), 1);
  const Graph back = repaired_exactly(shared, "onnxruntime", WeightForm::kKeep);
  EXPECT_EQ(count(back, "QuantizeLinear"), 2);
  EXPECT_EQ(count(back, "DequantizeLinear"), 2);
}

TEST(Repair, DynamicQuantizationNeedsData) {
  for (const BadFile& file : bad_files()) {
    if (!file.needs_data) continue;
    SCOPED_TRACE(file.name);
    const Repaired repaired = repair(parse_bad_file(file), file.target).value();
    EXPECT_FALSE(accepted(repaired.left));
  }
}

/// One tensor with two scales, and a Concat with a third behind it.
Graph several_scales() {
  return parse_bad_file(
      {"concat",
       "const t: f32[] = [0.2]\nconst v: f32[] = [0.25]\np = QuantizeLinear(x, s, z)\n"
       "a = DequantizeLinear(p, s, z)\nq = QuantizeLinear(x, t, z)\nb = DequantizeLinear(q, t, z)\n"
       "c = Concat(a, b) {axis=1}\nr = QuantizeLinear(c, v, z)\ny = DequantizeLinear(r, v, z)",
       "", ""});
}

/// The bad files' inputs, `by` times as large.
std::function<CalibrationSource()> data_times(double by) {
  return [by]() -> CalibrationSource {
    return [by, all = inputs(),
            next = size_t{0}]() mutable -> Result<std::optional<std::vector<Tensor>>> {
      if (next >= all.size()) return std::optional<std::vector<Tensor>>();
      std::vector<double> values = all[next].to_doubles().value();
      for (double& v : values)
        v *= by;
      const Tensor& x = all[next++];
      return std::optional(std::vector{Tensor::from_doubles(x.type(), x.shape(), values).value()});
    };
  };
}

TEST(Repair, UnifiesScalesOnlyWhereAsked) {
  const Graph graph = several_scales();
  EXPECT_TRUE(repair(graph, "tensorrt-10").value().changes.empty());
  RepairOptions options;
  options.data = data_times(0.01); // within the range of the smallest scale
  options.scales = ScaleForm::kUnified;
  const Repaired repaired = repair(graph, "tensorrt-10", options).value();
  EXPECT_TRUE(repaired.left.empty()) << text(repaired.left);
  EXPECT_EQ(count(repaired.graph, "QuantizeLinear"), 2); // x once, the Concat's output once
  for (const NodeId id : repaired.graph.nodes())
    if (repaired.graph.node(id).op_type != "Concat") {
      EXPECT_EQ(repaired.graph.constant(repaired.graph.node(id).input(1))->at(0), 0.25);
    }
}

/// What a smaller scale cut off stays cut off where its scale becomes larger.
TEST(Repair, UnifiedScalesKeepTheRangeOfEach) {
  const Graph graph = several_scales();
  for (const double by : {1.0, 100.0}) {
    RepairOptions options;
    options.data = data_times(by);
    options.scales = ScaleForm::kUnified;
    const Repaired repaired = repair(graph, "tensorrt-10", options).value();
    EXPECT_TRUE(repaired.left.empty()) << text(repaired.left);
    ASSERT_EQ(repaired.outputs.size(), 1U);
    // Half a step of the old scale, half of the new, and that of the Concat's Q.
    EXPECT_LE(repaired.outputs[0].max_error, (0.1 + 0.25) / 2 + 0.25 + 1e-6) << by;
  }
}

} // namespace
} // namespace octet
