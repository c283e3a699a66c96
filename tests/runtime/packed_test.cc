// SPDX-License-Identifier: Apache-2.0
// Packed sequences: the bits of each sequence alone and in a padded batch, by the reference and on
// every instruction set; and what is refused, with its reason.
#include <algorithm>
#include <numeric>

#include "core/cpu.h"
#include "core/philox.h"
#include "passes/lower/lower.h"
#include "passes/pack/pack_sequences.h"
#include "runtime/bert_graphs.h"
#include "runtime/packed_batch.h"
#include <gtest/gtest.h>

#include "octet/bert.h"
#include "octet/executor.h"
#include "octet/graph_text.h"
#include "octet/passes.h"
#include "octet/session.h"

namespace octet {
namespace {

using test::PackedBatch;
using Lengths = std::vector<int64_t>;

const Lengths kLengths[] = {{1}, {7}, {1, 1, 1}, {5, 5}, {3, 19, 1, 8, 40}, {60, 2, 33}, {}};

/// Of padded outputs [batch, length, ..] and [batch, ..], those of the sequences.
void expect_same(const std::vector<Tensor>& padded,
                 std::span<const Tensor> packed,
                 const PackedBatch& batch,
                 const std::string& where) {
  ASSERT_EQ(padded.size(), packed.size());
  for (size_t k = 0; k < padded.size(); ++k) {
    const Tensor want = packed[k].dim(0) == batch.tokens() && padded[k].rank() > packed[k].rank()
                            ? batch.packed(padded[k])
                            : padded[k];
    EXPECT_TRUE(packed[k].identical(want))
        << where << ", output " << k << ": " << to_string(packed[k].shape()) << ", padded "
        << to_string(padded[k].shape()) << ", first "
        << (want.count() > 0 && packed[k].count() > 0 ? packed[k].at(0) - want.at(0) : 0);
  }
}

Graph packed_graph(const Graph& model) {
  Graph g = model;
  EXPECT_TRUE(name_sequence_axes(g).ok());
  EXPECT_TRUE(simplify(g).ok());
  auto packed = pack_sequences(lower(g).value().graph);
  EXPECT_TRUE(packed.ok()) << packed.error().text();
  return std::move(*packed);
}

void check_bits(const Graph& model, int64_t vocabulary) {
  const Graph packed = packed_graph(model);
  auto reference = make_reference_executor(packed);
  ASSERT_TRUE(reference.ok()) << reference.error().text();
  auto padded = Session::create(model);
  ASSERT_TRUE(padded.ok()) << padded.error().text();
  std::vector<PackedBatch> batches;
  std::vector<std::vector<Tensor>> wanted;
  for (const Lengths& lengths : kLengths) {
    const PackedBatch& batch = batches.emplace_back(model, lengths, vocabulary, 5);
    const auto want = padded->run(batch.padded_inputs());
    ASSERT_TRUE(want.ok()) << want.error().text();
    wanted.push_back(*want);
    std::vector<Tensor> inputs = batch.packed_inputs();
    inputs.push_back(batch.offsets_tensor());
    const auto by_reference = (*reference)->run(inputs);
    ASSERT_TRUE(by_reference.ok()) << by_reference.error().text();
    expect_same(*want, *by_reference, batch, "by the reference");
  }
  for (const Isa isa : known_isas()) {
    if (!isa_supported(isa)) continue;
    for (const int threads : {1, 2, 3}) {
      auto session = Session::create(
          model, {.threads = threads, .isa = std::string(isa_name(isa)), .packed = true});
      ASSERT_TRUE(session.ok()) << session.error().text();
      for (size_t i = 0; i < batches.size(); ++i) {
        SessionContext context = session->context();
        const auto got = context.run_packed(batches[i].packed_inputs(), batches[i].offsets());
        ASSERT_TRUE(got.ok()) << got.error().text();
        expect_same(wanted[i], *got, batches[i], std::string(isa_name(isa)));
      }
    }
  }
}

TEST(Packed, BertOfOurOwnHasTheBitsOfPaddedBatches) {
  for (const BertHead head : {BertHead::kNone, BertHead::kClassification}) {
    octet::BertOptions options;
    options.vocabulary = 50;
    options.hidden = 24;
    options.intermediate = 40;
    options.head = head;
    check_bits(make_bert(options).value(), options.vocabulary);
  }
}

TEST(Packed, BertOfPyTorchHasTheBitsOfPaddedBatches) {
  for (const bool quantized : {false, true})
    for (const bool chain : {false, true})
      check_bits(test::BertBuilder({.quantized = quantized, .layer_norm_chain = chain, .words = 50})
                     .build(),
                 50);
}

TEST(Packed, NoStepRunsByReference) {
  auto session = Session::create(test::BertBuilder({.quantized = true}).build(), {.packed = true});
  ASSERT_TRUE(session.ok()) << session.error().text();
  for (const PlannedNode& n : session->plan())
    EXPECT_NE(n.kernel, "reference") << n.node << ": " << n.why;
}

TEST(Packed, OneContextTakesAnyLengths) {
  const Graph model = test::BertBuilder({.quantized = true}).build();
  auto packed = Session::create(model, {.threads = 2, .packed = true});
  auto padded = Session::create(model);
  ASSERT_TRUE(packed.ok() && padded.ok());
  SessionContext context = packed->context();
  Philox random(3);
  for (uint64_t i = 0; i < 30; ++i) {
    Lengths lengths(static_cast<size_t>(random.below(7)));
    for (int64_t& length : lengths)
      length = 1 + random.below(i % 3 == 0 ? 60 : 9);
    const PackedBatch batch(model, lengths, 50, i);
    const auto want = padded->run(batch.padded_inputs());
    const auto got = context.run_packed(batch.packed_inputs(), batch.offsets());
    ASSERT_TRUE(want.ok() && got.ok());
    expect_same(*want, *got, batch, "run " + std::to_string(i));
  }
  EXPECT_EQ(context.plan_counts().plans, 1);
}

TEST(Packed, ExecutorTakesPaddedBatches) {
  for (const BertHead head : {BertHead::kNone, BertHead::kMaskedLm}) {
    octet::BertOptions options;
    options.vocabulary = 50;
    options.hidden = 24;
    options.head = head;
    const Graph model = make_bert(options).value();
    auto packed = make_native_executor(model, {.packed = true});
    ASSERT_TRUE(packed.ok()) << packed.error().text();
    auto padded = make_native_executor(model);
    const PackedBatch batch(model, {3, 9, 1}, 50, 2);
    const auto want = (*padded)->run(batch.padded_inputs());
    const auto got = (*packed)->run(batch.padded_inputs());
    ASSERT_TRUE(got.ok()) << got.error().text();
    for (size_t k = 0; k < want->size(); ++k) {
      ASSERT_EQ((*got)[k].shape(), (*want)[k].shape());
      if ((*want)[k].rank() < 3) {
        EXPECT_TRUE((*got)[k].identical((*want)[k]));
        continue;
      }
      EXPECT_TRUE(batch.packed((*got)[k]).identical(batch.packed((*want)[k])));
      EXPECT_EQ((*got)[k].at((*got)[k].count() - 1), 0) << "padding";
    }
  }
}

/// A mask that pads in front, one with a hole, one that is no mask: run as they are.
TEST(Packed, ExecutorRunsOtherMasksAsTheyAre) {
  const Graph model = test::BertBuilder({}).build();
  auto packed = make_native_executor(model, {.packed = true});
  auto padded = make_native_executor(model);
  ASSERT_TRUE(packed.ok() && padded.ok());
  for (const std::vector<int64_t>& mask :
       {std::vector<int64_t>{0, 1, 1, 1}, {1, 0, 1, 1}, {1, 2, 1, 0}, {0, 0, 0, 0}}) {
    std::vector<Tensor> inputs = test::random_tokens(1, 4, 1);
    inputs[1] = Tensor::of<int64_t>({1, 4}, std::span<const int64_t>(mask));
    const auto want = (*padded)->run(inputs), got = (*packed)->run(inputs);
    ASSERT_TRUE(want.ok() && got.ok());
    EXPECT_TRUE((*got)[0].identical((*want)[0]));
  }
}

TEST(Packed, RefusesOffsetsThatAreNone) {
  auto session = Session::create(test::BertBuilder({}).build(), {.packed = true});
  ASSERT_TRUE(session.ok());
  SessionContext context = session->context();
  const std::vector<Tensor> tokens(2, Tensor::zeros(DType::kInt64, {4}).value());
  const auto message = [&](std::vector<int64_t> offsets) {
    const auto result = context.run_packed(tokens, offsets);
    return result.ok() ? std::string("none") : result.error().text();
  };
  EXPECT_EQ(message({0, 1, 4}), "none");
  EXPECT_NE(message({}).find("offsets are empty"), std::string::npos);
  EXPECT_NE(message({1, 4}).find("begin with 1"), std::string::npos);
  EXPECT_NE(message({0, 2, 2, 4}).find("sequence 1 begins at 2 and ends at 2"), std::string::npos);
  EXPECT_NE(message({0, 3, 2, 4}).find("sequence 1 begins at 3"), std::string::npos);
  EXPECT_NE(message({0, 5}).find("5 tokens"), std::string::npos);
  const Tensor wrong = Tensor::of<int64_t>({2}, {0, 9});
  const auto direct = context.run(std::vector<Tensor>{tokens[0], tokens[1], wrong});
  ASSERT_FALSE(direct.ok());
  EXPECT_NE(direct.error().text().find("offsets end with 9 but there are 4 rows"),
            std::string::npos)
      << direct.error().text();
  auto padded = Session::create(test::BertBuilder({}).build());
  ASSERT_TRUE(padded.ok());
  EXPECT_FALSE(padded->context().run_packed(tokens, std::vector<int64_t>{0, 4}).ok());
}

const std::string kWide = "a = Sub(one, mask)\nb = Mul(a, lowest)\nm = Unsqueeze(b, axes)\n";

/// One layer of attention, its mask m made of the input of that name, and what follows its result y.
Result<Graph> one_layer(const std::string& mask, const std::string& behind) {
  return parse_graph(R"(graph g opset(""=17)
input ids: i64[N, S]
input mask: f32[N, S]
const table: f32[5, 4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2]
const one: f32[] = [1]
const far: f32[] = [-10000]
const lowest: f32[] = [-3.4028235e38]
const little: f32[] = [-50]
const zero: i64[] = [0]
const step: i64[] = [1]
const first: i64[1] = [0]
const last: i64[1] = [1]
const axes: i64[1] = [1]
const behind: i64[1] = [2]
const nil: f32[] = [0]
x = Gather(table, ids) "words"
t = Transpose(x) {perm=[0, 2, 1]}
scores = MatMul(x, t) "scores"
)" + mask + (mask.find("s = ") == std::string::npos ? "s = Add(scores, m)" : "") +
                     R"(
p = Softmax(s) {axis=-1} "softmax"
y = MatMul(p, x) "context"
)" + (behind.empty() ? "output y: f32[N, S, 4]\n" : behind));
}

/// Why it cannot be packed.
std::string reason(const std::string& mask, const std::string& behind = {}) {
  const auto graph = one_layer(mask, behind);
  if (!graph.ok()) return "text: " + graph.error().text();
  auto session = Session::create(*graph, {.packed = true});
  return session.ok() ? "none" : session.error().text();
}

/// The mean of what a mask leaves, as sentence encoders have it.
TEST(Packed, MaskedMeansHaveTheBitsOfPaddedBatches) {
  for (const char* keep : {"0", "1"})
    for (const bool expanded : {false, true}) {
      const std::string k = keep;
      const auto graph = one_layer(
          kWide,
          "w = Unsqueeze(mask, behind)\n" +
              std::string(expanded ? "sh = Shape(y)\ne = Expand(w, sh)\n" : "e = Identity(w)\n") +
              "v = Mul(y, e)\ntotal = ReduceSum(v, axes) {keepdims=" + k +
              "}\ncount = ReduceSum(e, axes) {keepdims=" + k +
              "}\nleast = Max(count, one)\nz = Div(total, least)\noutput z: f32[*]\n");
      ASSERT_TRUE(graph.ok()) << graph.error().text();
      check_bits(*graph, 5);
    }
}

/// As exporters write masks: expanded to queries, filled in, chosen by a condition.
TEST(Packed, MasksOfAnyFormHaveTheBitsOfPaddedBatches) {
  const std::string whole = "sh = Shape(ids)\nlen = Slice(sh, last, behind, first)\n"
                            "to = Concat(sh, len) {axis=0}\nw = Unsqueeze(mask, axes)\n";
  for (const std::string& mask : std::vector<std::string>{
           whole +
               "e = Expand(w, to)\ni = Sub(one, e)\nc = Cast(i) {to=9}\nm = Where(c, lowest, i)\n",
           whole + "c = Equal(w, nil)\ne = Expand(c, to)\ns = Where(e, lowest, scores)\n",
           whole + "c = Greater(w, nil)\nn = Not(c)\nd = Not(n)\nm = Where(d, nil, lowest)\n",
           "r = Mul(mask, lowest)\nd = Sub(r, lowest)\nm = Unsqueeze(d, axes)\nh = Neg(m)\n"
           "k = Add(scores, h)\ns = Mul(k, one)\n"}) {
    SCOPED_TRACE(mask);
    const auto graph = one_layer(mask, {});
    ASSERT_TRUE(graph.ok()) << graph.error().text();
    check_bits(*graph, 5);
  }
}

TEST(Packed, MovesBehindTheTokensHaveTheBitsOfPaddedBatches) {
  for (const char* behind :
       {"u = Slice(y, first, last, axes)\nz = Relu(u)\noutput z: f32[*]\n",
        "u = Slice(y, first, last, behind)\nz = Neg(u)\noutput z: f32[*]\n",
        "u, v = Split(y) {axis=2, num_outputs=2}\nw = Concat(v, u) {axis=-1}\nz = Neg(w)\n"
        "output z: f32[*]\n",
        "u = ReduceSum(y, behind) {keepdims=0}\nz = Neg(u)\noutput z: f32[*]\n",
        "u = ReduceMax(y) {axes=[2]}\nz = Mul(u, y)\noutput z: f32[*]\n",
        // Positions that count the tokens other than 0, as RoBERTa's do.
        "k = Equal(ids, zero)\nl = Not(k)\nc = Cast(l) {to=7}\nr = CumSum(c, step)\n"
        "q = Mul(r, c)\nf = Cast(q) {to=1}\ng = Unsqueeze(f, behind)\nz = Mul(y, g)\n"
        "output z: f32[*]\n",
        "r = CumSum(ids, step) {exclusive=1}\nf = Cast(r) {to=1}\ng = Unsqueeze(f, behind)\n"
        "z = Mul(y, g)\noutput z: f32[*]\n",
        "u = Gather(y, first) {axis=1}\nz = Neg(u)\noutput z: f32[*]\n",
        "u = Gather(y, zero) {axis=2}\nz = Neg(u)\noutput z: f32[*]\n",
        "u = Softmax(y) {axis=2}\nz = Neg(u)\noutput z: f32[*]\n"}) {
    SCOPED_TRACE(behind);
    auto graph = one_layer(kWide, behind);
    ASSERT_TRUE(graph.ok()) << graph.error().text();
    graph->opsets[""] = std::string(behind).find("num_outputs") != std::string::npos ? 18 : 17;
    check_bits(*graph, 5);
  }
}

TEST(Packed, SaysWhatIsNoPadding) {
  EXPECT_EQ(reason(kWide), "none");
  const auto has = [](const std::string& message, const char* part) {
    return message.find(part) != std::string::npos ? testing::AssertionSuccess()
                                                   : testing::AssertionFailure() << message;
  };
  EXPECT_TRUE(
      has(reason("a = Sub(one, mask)\nb = Mul(a, far)\nm = Unsqueeze(b, axes)\n"),
          "nothing is known of how large its scores are (a masked score of 0 becomes -10000)"));
  EXPECT_TRUE(has(reason("a = Sub(one, mask)\nb = Mul(a, little)\nm = Unsqueeze(b, axes)\n"),
                  "is padding alone"));
  EXPECT_TRUE(has(reason("b = Neg(mask)\nm = Unsqueeze(b, last)\n"), "is padding alone"));
  EXPECT_TRUE(has(reason("r = CumSum(mask, last)\nm = Unsqueeze(r, axes)\n"), "CumSum"));
  EXPECT_TRUE(has(reason("e = Cast(ids) {to=1}\nm = Unsqueeze(e, axes)\n"), "words"));
}

TEST(Packed, TakesInputsThatAreSequences) {
  const auto message = [](const char* inputs) {
    auto graph = parse_graph("graph g opset(\"\"=17)\n" + std::string(inputs) +
                             "y = Neg(x)\noutput y: f32[*]\n");
    auto session = Session::create(graph.value(), {.packed = true});
    if (session.ok()) return std::string("none");
    EXPECT_EQ(session.error().code(), ErrorCode::kUnsupported);
    return session.error().text();
  };
  EXPECT_EQ(message("input x: f32[N, S]\n"), "none");
  for (const char* x : {"f32[N, 3, S]", "f32[N, 8]", "f32[2, S]", "f32[N]", "f32[*]"}) {
    const std::string text = message(("input x: " + std::string(x) + "\n").c_str());
    EXPECT_NE(text.find("input \"x\" is " + std::string(x)), std::string::npos) << text;
  }
  const auto no_mask =
      parse_graph("graph g opset(\"\"=17)\ninput x: f32[N, S]\ny = Neg(x)\noutput y: f32[N, S]\n");
  const auto executor = make_native_executor(no_mask.value(), {.packed = true});
  ASSERT_FALSE(executor.ok());
  EXPECT_NE(executor.error().text().find("no mask"), std::string::npos) << executor.error().text();
}

TEST(Packed, NamesTheNodeThatMixes) {
  const auto behind = [&](const std::string& node) {
    return reason(kWide, node + "\noutput z: f32[*]\n");
  };
  const auto names = [&](const std::string& node, const char* name, const char* part = "") {
    const std::string message = behind(node);
    return message.find(name) != std::string::npos && message.find(part) != std::string::npos
               ? testing::AssertionSuccess()
               : testing::AssertionFailure() << message;
  };
  EXPECT_EQ(behind("z = Gather(y, zero) {axis=1}"), "none");
  EXPECT_EQ(behind("z = Mul(y, one)"), "none");
  EXPECT_TRUE(names("z = Gather(y, last) {axis=1} \"second\"", "second", "first token"));
  EXPECT_TRUE(names("z = ReduceMean(y) {axes=[1]} \"mean\"", "mean"));
  EXPECT_TRUE(names("z = ReduceSum(y, axes) \"sum\"", "sum", "over padding"));
  EXPECT_TRUE(names("v = Mul(y, mask)\nz = ReduceSum(v, axes) \"sum\"", "Mul", "each token"));
  EXPECT_TRUE(names("z = Transpose(y) {perm=[1, 0, 2]} \"turn\"", "", "axes of batch"));
  EXPECT_TRUE(names("z = Softmax(y) {axis=1} \"over\"", "over"));
  EXPECT_TRUE(names("z = CumSum(y, last) \"running\"", "running"));
  EXPECT_TRUE(names("q, c, n = DynamicQuantizeLinear(y) \"dynamic\"\nz = Cast(q) {to=1}", "dynamic",
                    "whole batch"));
}

} // namespace
} // namespace octet
