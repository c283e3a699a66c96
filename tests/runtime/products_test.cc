// SPDX-License-Identifier: Apache-2.0
// Einsum, Gemm and MatMul in the forms that models have: no node runs by its reference, the bits
// are those of the lowered graph, and the numbers those of the ONNX operators in double. Sizes N
// and S are open.
#include <cmath>

#include "core/cpu.h"
#include "core/philox.h"
#include "passes/lower/lower.h"
#include <gtest/gtest.h>

#include "octet/executor.h"
#include "octet/graph_text.h"
#include "octet/session.h"

namespace octet {
namespace {

struct ProductForm {
  const char* name;
  std::string text;
  int opset = 17;
};

std::string numbers(const std::string& name, const Shape& shape) {
  int64_t count = 1;
  std::string sizes, values;
  for (const int64_t d : shape) {
    count *= d;
    sizes += (sizes.empty() ? "" : ", ") + std::to_string(d);
  }
  for (int64_t i = 0; i < count; ++i)
    values +=
        (i == 0 ? "" : ", ") + std::to_string(0.01 * static_cast<double>((i * 37 + 11) % 97) - 0.5);
  return "const " + name + ": f32[" + sizes + "] = [" + values + "]\n";
}

std::string einsum(const std::string& equation, const std::string& a, const std::string& b) {
  return "input a: f32[" + a + "]\ninput b: f32[" + b + "]\ny = Einsum(a, b) {equation=\"" +
         equation + "\"}\noutput y: f32[*]";
}

std::string
einsum_constant(const std::string& equation, const std::string& a, const Shape& b, bool first) {
  return "input a: f32[" + a + "]\n" + numbers("b", b) + "y = Einsum(" + (first ? "b, a" : "a, b") +
         ") {equation=\"" + equation + "\"}\noutput y: f32[*]";
}

std::string gemm(const std::string& attributes, const std::string& head) {
  return head + "\ny = Gemm(a, b, c) {" + attributes + "}\noutput y: f32[*]";
}

std::vector<ProductForm> product_forms() {
  const std::string a = "input a: f32[N, 5]\n", b = numbers("b", {5, 7}),
                    turned = "input a: f32[5, N]\n";
  return {
      {"EinsumMatrices", einsum("ij,jk->ik", "N, 5", "5, S")},
      {"EinsumImplicit", einsum("kj,ik", "5, N", "S, 5")},
      {"EinsumAttention", einsum("bhid,bhjd->bhij", "N, 3, S, 8", "N, 3, S, 8")},
      {"EinsumContext", einsum("bhij,bjhd->bihd", "N, 3, S, S", "N, S, 3, 8")},
      {"EinsumBatchLast", einsum("ijb,jkb->bik", "3, 4, N", "4, S, N")},
      {"EinsumEllipsis", einsum("...ij,...jk->...ik", "N, 1, S, 4", "3, 4, S")},
      {"EinsumBroadcastBatch", einsum("bij,bjk->bik", "N, 3, 4", "1, 4, S")},
      {"EinsumTwoSummed", einsum("bhwc,ochw->bo", "N, 3, 4, 5", "6, 5, 3, 4")},
      {"EinsumManyRows", einsum("abcij,cjk->abcik", "2, 3, N, 3, 4", "N, 4, S")},
      {"EinsumOuter", einsum("i,j->ij", "N", "S")},
      {"EinsumDot", einsum("i,i->", "N", "N")},
      {"EinsumRowTimesMatrix", einsum("j,jk->k", "5", "5, S")},
      {"EinsumElementwise", einsum("bi,bi->ib", "N, S", "N, S")},
      {"EinsumScale", einsum("bij,b->bji", "N, S, 3", "N")},
      {"EinsumSummedInOne", einsum("bij,jk->bk", "N, S, 3", "3, 4")},
      {"EinsumConstant", einsum_constant("bsd,dhe->bshe", "N, S, 6", {6, 2, 4}, false)},
      {"EinsumConstantMerged", einsum_constant("bshe,hed->bsd", "N, S, 2, 4", {2, 4, 6}, false)},
      {"EinsumConstantFirst", einsum_constant("od,bsd->bos", "N, S, 6", {4, 6}, true)},
      {"EinsumConstantBatched", einsum_constant("bgi,gij->bgj", "N, 3, 4", {3, 4, 5}, false)},
      {"EinsumOne",
       "input a: f32[N, S, 3]\ny = Einsum(a) {equation=\"ijk->kj\"}\noutput y: f32[*]"},
      {"EinsumThree", "input a: f32[N, 4]\ninput b: f32[4, S]\ninput c: f32[S, 3]\n"
                      "y = Einsum(a, b, c) {equation=\"ij,jk,kl->li\"}\noutput y: f32[*]"},
      {"EinsumFirstTwoAreANumber",
       "input a: f32[N]\ninput b: f32[N]\ninput c: f32[4, S]\n"
       "y = Einsum(a, b, c) {equation=\"a,a,xy->x\"}\noutput y: f32[*]"},
      {"EinsumOldAxes", einsum("bij,jk->bk", "N, S, 3", "3, 4"), 12},
      {"GemmAlphaBeta", gemm("alpha=0.5, beta=-2.0", a + b + numbers("c", {7}))},
      {"GemmTurned", gemm("transA=1, alpha=0.3", turned + b + numbers("c", {1, 7}))},
      {"GemmScalar", gemm("beta=0.7", a + b + numbers("c", {}))},
      {"GemmOne", gemm("transB=1", a + numbers("b", {7, 5}) + numbers("c", {1}))},
      {"GemmColumn", gemm("beta=2.0", a + b + "input c: f32[N, 1]\n")},
      {"GemmMatrix", gemm("alpha=3.0", a + b + "input c: f32[N, 7]\n")},
      {"GemmConstantColumn", gemm("beta=2.0", "input a: f32[3, 5]\n" + b + numbers("c", {3, 1}))},
      {"GemmActivations",
       gemm("transB=1, alpha=0.5, beta=0.25", a + "input b: f32[S, 5]\ninput c: f32[S]\n")},
      {"GemmActivationsTurned", gemm("transA=1", turned + "input b: f32[5, S]\ninput c: f32[]\n")},
      {"GemmWithoutC", a + b + "y = Gemm(a, b) {alpha=2.0}\noutput y: f32[*]"},
      {"GemmOld", gemm("alpha=0.5, beta=2.0", a + b + "input c: f32[N, 7]\n"), 9},
      {"GemmBiasInput", gemm("", a + b + "input c: f32[7]\n")},
      {"MatMulRow", "input a: f32[5]\n" + b + "y = MatMul(a, b)\noutput y: f32[*]"},
      {"MatMulRowOfMany",
       "input a: f32[5]\ninput b: f32[N, 5, 3]\ny = MatMul(a, b)\noutput y: f32[*]"},
      {"MatMulColumn",
       "input a: f32[N, S, 5]\n" + numbers("b", {5}) + "y = MatMul(a, b)\noutput y: f32[*]"},
      {"MatMulColumnInput",
       "input a: f32[N, 5]\ninput b: f32[5]\ny = MatMul(a, b)\noutput y: f32[*]"},
      {"MatMulDot", "input a: f32[5]\ninput b: f32[5]\ny = MatMul(a, b)\noutput y: f32[*]"},
      {"MatMulWeightsOfOne",
       "input a: f32[N, S, 5]\n" + numbers("b", {1, 5, 7}) + "y = MatMul(a, b)\noutput y: f32[*]"},
      {"MatMulWeightsBatched", "input a: f32[N, 3, S, 5]\n" + numbers("b", {3, 5, 7}) +
                                   "y = MatMul(a, b)\noutput y: f32[*]"},
      {"MatMulMoreAxesRight",
       "input a: f32[S, 5]\n" + numbers("b", {2, 5, 4}) + "y = MatMul(a, b)\noutput y: f32[*]"},
      {"MatMulTurned",
       "input a: f32[N, S, 8]\ninput b: f32[N, S, 8]\nt = Transpose(b) {perm=[0, 2, 1]}\n"
       "y = MatMul(a, t)\noutput y: f32[*]"},
      {"MatMulHeads",
       "input a: f32[N, 3, S, 8]\ninput b: f32[N, S, 3, 8]\nt = Transpose(b) {perm=[0, 2, 3, 1]}\n"
       "y = MatMul(a, t)\noutput y: f32[*]\noutput t: f32[*]"},
      {"MatMulTurnedMatrix", "input a: f32[N, 8]\ninput b: f32[S, 8]\nt = Transpose(b)\n"
                             "y = MatMul(a, t)\noutput y: f32[*]"},
      {"MatMulTurnedBroadcast",
       "input a: f32[N, 1, S, 9]\ninput b: f32[3, S, 9]\nt = Transpose(b) {perm=[0, 2, 1]}\n"
       "y = MatMul(a, t)\noutput y: f32[*]"},
  };
}

Tensor random_input(const Value& v, int64_t n, int64_t s, Philox& random) {
  Shape shape;
  for (const Dim& d : *v.type.shape)
    shape.push_back(d.is_constant() ? d.value() : d.symbol_name() == "N" ? n : s);
  Tensor t = Tensor::zeros(DType::kFloat32, shape).value();
  for (float& x : t.mutable_data<float>())
    x = static_cast<float>(random.uniform(-1.5, 1.5));
  return t;
}

class Products : public ::testing::TestWithParam<ProductForm> {};

TEST(Einsum, OfConstantsAloneMayBeAnOutput) {
  const auto model =
      parse_graph("graph g opset(\"\"=17)\ninput a: f32[2]\n" + numbers("b", {2, 3}) +
                  "y = Einsum(b) {equation=\"ij->ji\"}\nz = Relu(a)\n"
                  "output y: f32[3, 2]\noutput z: f32[2]\n");
  ASSERT_TRUE(model.ok()) << model.error().text();
  auto session = Session::create(*model, {.lower = true});
  ASSERT_TRUE(session.ok()) << session.error().text();
  const auto got = session->run({{Tensor::of<float>({2}, {1.0F, -1.0F})}});
  ASSERT_TRUE(got.ok()) << got.error().text();
  const Tensor& b = *model->constant(*model->find_value("b"));
  for (int64_t i = 0; i < 6; ++i)
    EXPECT_EQ((*got)[0].at(i), b.at(i % 2 * 3 + i / 2));
}

TEST_P(Products, RunByKernelsWithTheNumbersOfTheOperators) {
  const auto model = parse_graph("graph g opset(\"\"=" + std::to_string(GetParam().opset) + ")\n" +
                                 GetParam().text + "\n");
  ASSERT_TRUE(model.ok()) << model.error().text();
  const Result<Lowered> lowered = lower(*model);
  ASSERT_TRUE(lowered.ok()) << lowered.error().text();
  const auto literal = make_reference_executor(*model).value();
  const auto reference = make_reference_executor(lowered->graph).value();
  Philox random(5);
  for (const auto& [n, s, threads] :
       {std::tuple{1, 1, 1}, {2, 7, 2}, {3, 16, 3}, {5, 33, 1}, {40, 130, 2}}) {
    std::vector<Tensor> inputs;
    for (const ValueId id : model->inputs())
      inputs.push_back(random_input(model->value(id), n, s, random));
    const auto exact = literal->run(inputs), want = reference->run(inputs);
    ASSERT_TRUE(exact.ok()) << exact.error().text();
    ASSERT_TRUE(want.ok()) << want.error().text();
    for (size_t k = 0; k < want->size(); ++k) {
      ASSERT_EQ((*want)[k].shape(), (*exact)[k].shape());
      for (int64_t i = 0; i < (*want)[k].count(); ++i)
        ASSERT_NEAR((*want)[k].at(i), (*exact)[k].at(i), 1e-4) << "n " << n << " s " << s;
    }
    for (const Isa isa : known_isas()) {
      if (!isa_supported(isa)) continue;
      auto session = Session::create(
          *model, {.threads = threads, .isa = std::string(isa_name(isa)), .lower = true});
      ASSERT_TRUE(session.ok()) << session.error().text();
      for (const PlannedNode& node : session->plan())
        EXPECT_NE(node.kernel, "reference") << node.node << ": " << node.why;
      const auto got = session->run(inputs);
      ASSERT_TRUE(got.ok()) << got.error().text();
      for (size_t k = 0; k < want->size(); ++k) {
        ASSERT_EQ((*got)[k].shape(), (*want)[k].shape());
        for (int64_t i = 0; i < (*want)[k].count(); ++i)
          ASSERT_EQ((*got)[k].at(i), (*want)[k].at(i)) << isa_name(isa) << " n " << n << " s " << s;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Forms,
                         Products,
                         ::testing::ValuesIn(product_forms()),
                         [](const auto& test) { return test.param.name; });

/// What Einsum sums over an axis of size 1 that another operand has more of stays as it is.
TEST(Einsum, OfSizesThatBroadcastUnderASumIsKept) {
  for (const char* equation : {"ij,jk->ik", "ii,ij->j"}) {
    const std::string b = std::string(equation) == "ij,jk->ik" ? "4, 2" : "3, 2";
    const auto model = parse_graph(
        "graph g opset(\"\"=17)\n" +
        einsum(equation, std::string(equation) == "ij,jk->ik" ? "3, 1" : "3, 3", b) + "\n");
    ASSERT_TRUE(model.ok()) << model.error().text();
    Philox random(1);
    std::vector<Tensor> inputs;
    for (const ValueId id : model->inputs())
      inputs.push_back(random_input(model->value(id), 1, 1, random));
    const auto want = make_reference_executor(*model).value()->run(inputs);
    const auto got = Session::create(*model, {.lower = true}).value().run(inputs);
    ASSERT_TRUE(want.ok() && got.ok());
    for (int64_t i = 0; i < (*want)[0].count(); ++i)
      EXPECT_EQ((*got)[0].at(i), (*want)[0].at(i));
  }
}

} // namespace
} // namespace octet
