// SPDX-License-Identifier: Apache-2.0
// Products with stored weights and float activations: what DequantizeLinear makes of the codes is
// never there, and the bits are those of the float product of it.
#include <cmath>
#include <random>

#include "core/cpu.h"
#include "core/released.h"
#include "ops/qdq/quant_layout.h"
#include "passes/lower/lower.h"
#include "runtime/stored.h"
#include "support/memory.h"

#include "octet/executor.h"
#include "octet/session.h"

namespace octet {
namespace {

enum class Granularity : uint8_t { kTensor, kChannel, kBlocks };

struct CodedForm {
  DType type = DType::kInt8;
  Granularity granularity = Granularity::kChannel;
  bool zeros = false;
  bool gemm = false;       ///< Gemm with transB, else MatMul of [K, N]
  bool transposed = false; ///< a Transpose stands behind DQ
};

constexpr int64_t kInner = 40, kOuter = 70, kBlockSize = 16;

Attributes int_attributes(std::initializer_list<std::pair<const char*, int64_t>> list) {
  Attributes out;
  for (const auto& [key, value] : list)
    out[key].value = value;
  return out;
}

/// Draws everything; the same seed gives the same numbers.
struct CodedNet {
  std::mt19937 rng;
  Graph graph;

  explicit CodedNet(uint32_t seed, int64_t opset = 21) : rng(seed) { graph.opsets[""] = opset; }

  Tensor drawn(DType type, Shape shape, double low, double high) {
    std::vector<double> values(static_cast<size_t>(*element_count(shape)));
    std::uniform_real_distribution<double> uniform(low, high);
    for (double& v : values)
      v = uniform(rng);
    return Tensor::from_doubles(type, std::move(shape), values).value();
  }
  ValueId constant(const std::string& name, Tensor t) {
    return graph.add_constant(name, std::move(t));
  }

  /// What DQ makes of [n, k], or of [k, n] where the weights are not `rows`.
  ValueId stored(const CodedForm& f, bool rows, int64_t n, int64_t k, const std::string& name) {
    const int64_t channels = rows ? 0 : 1, along = 1 - channels;
    const auto by_axis = [&](int64_t of_channels, int64_t of_k) {
      return rows ? Shape{of_channels, of_k} : Shape{of_k, of_channels};
    };
    Shape scales;
    Attributes attributes;
    if (f.granularity == Granularity::kChannel) {
      scales = {n};
      attributes = int_attributes({{"axis", channels}});
    } else if (f.granularity == Granularity::kBlocks) {
      scales = by_axis(n, (k + kBlockSize - 1) / kBlockSize);
      attributes = int_attributes({{"axis", along}, {"block_size", kBlockSize}});
    }
    std::vector<ValueId> inputs = {
        constant(name + "/codes", drawn(f.type, by_axis(n, k), -130, 260)),
        constant(name + "/scale", drawn(DType::kFloat32, scales, 0.001, 0.01))};
    if (f.zeros) inputs.push_back(constant(name + "/zero", drawn(f.type, scales, -9, 16)));
    return graph.emit("DequantizeLinear", inputs, attributes, name);
  }

  ValueId product(ValueId x, const CodedForm& f, int64_t n, int64_t k, const std::string& name) {
    ValueId w = stored(f, f.gemm != f.transposed, n, k, name + "/w");
    if (f.transposed) w = graph.emit("Transpose", {w}, {}, name + "/turned");
    return graph.emit(f.gemm ? "Gemm" : "MatMul", {x, w},
                      f.gemm ? int_attributes({{"transB", 1}}) : Attributes(), name);
  }

  ValueId input(std::vector<Dim> shape) {
    return graph.add_input("x", {DType::kFloat32, std::move(shape), {}});
  }
};

/// The graph with the numbers of each constant DQ in its place.
Graph with_floats(const Graph& graph) {
  Graph out = graph;
  for (const NodeId id : out.nodes()) {
    const Node node = out.node(id);
    if (!node.is("DequantizeLinear") || out.constant(node.input(0)) == nullptr) continue;
    Graph alone;
    alone.opsets = out.opsets;
    std::vector<ValueId> inputs;
    for (const ValueId v : node.inputs)
      inputs.push_back(alone.add_constant("c" + std::to_string(v.index), *out.constant(v)));
    alone.mark_output(alone.emit("DequantizeLinear", inputs, node.attributes, "y"));
    const auto numbers = make_reference_executor(alone).value()->run(std::vector<Tensor>{}).value();
    const ValueId real = out.add_constant(node.name + "/floats", numbers[0]);
    out.replace_uses(node.output(0), real);
    out.remove_node(id);
  }
  return out;
}

int coded_products(const Graph& lowered) {
  int count = 0;
  for (const NodeId id : lowered.nodes())
    count += lowered.node(id).op_type == "CodedGemm" ? 1 : 0;
  return count;
}

/// Bits with and without codes, on each instruction set, and of the reference of the lowered graph.
void expect_coded_bits(const Graph& graph, const std::vector<Tensor>& x, int products) {
  const Graph floats = with_floats(graph);
  const auto lowered = lower(graph);
  ASSERT_TRUE(lowered.ok()) << lowered.error().text();
  EXPECT_EQ(coded_products(lowered->graph), products);
  const auto reference = make_reference_executor(lowered->graph).value();
  for (const Isa isa : known_isas()) {
    if (!isa_supported(isa)) continue;
    SCOPED_TRACE(isa_name(isa));
    for (const int threads : {1, 2}) {
      const SessionOptions options{.threads = threads, .isa = std::string(isa_name(isa))};
      auto coded = Session::create(graph, options);
      auto plain = Session::create(floats, options);
      ASSERT_TRUE(coded.ok()) << coded.error().text();
      ASSERT_TRUE(plain.ok()) << plain.error().text();
      for (const PlannedNode& node : coded->plan())
        EXPECT_NE(node.kernel, "reference") << node.node << ": " << node.why;
      const auto want = plain->run(x), got = coded->run(x), specified = reference->run(x);
      ASSERT_TRUE(want.ok() && got.ok() && specified.ok());
      for (size_t i = 0; i < want->size(); ++i) {
        EXPECT_TRUE((*got)[i].identical((*want)[i])) << "output " << i;
        EXPECT_TRUE((*specified)[i].identical((*want)[i])) << "output " << i << " by reference";
      }
    }
  }
}

std::vector<Dim> open_rows(int64_t k) {
  return {Dim::symbol("N"), Dim(k)};
}

TEST(CodedWeights, EveryFormHasTheBitsOfTheFloatProduct) {
  for (const DType type :
       {DType::kInt8, DType::kUint8, DType::kInt4, DType::kUint4, DType::kInt2, DType::kUint2,
        DType::kFloat8E4M3FN, DType::kFloat8E5M2, DType::kFloat8E4M3FNUZ, DType::kFloat8E5M2FNUZ})
    for (const Granularity granularity :
         {Granularity::kTensor, Granularity::kChannel, Granularity::kBlocks})
      for (const bool gemm : {false, true})
        for (const bool transposed : {false, true}) {
          const bool zeros = code_range(type).has_value() && gemm != transposed;
          SCOPED_TRACE(std::string(name(type)) + (gemm ? " gemm" : "") +
                       (transposed ? " transposed " : " ") +
                       std::to_string(static_cast<int>(granularity)));
          CodedNet net(3);
          const ValueId x = net.input(open_rows(kInner));
          net.graph.mark_output(net.product(x,
                                            {.type = type,
                                             .granularity = granularity,
                                             .zeros = zeros,
                                             .gemm = gemm,
                                             .transposed = transposed},
                                            kOuter, kInner, "p"));
          expect_coded_bits(net.graph, {net.drawn(DType::kFloat32, {3, kInner}, -1, 1)}, 1);
        }
}

TEST(CodedWeights, BiasAndClampAreFusedAndRowsAreOfAnyRank) {
  CodedNet net(5);
  const ValueId x = net.input({Dim::symbol("N"), Dim::symbol("S"), Dim(kInner)});
  const CodedForm form{.type = DType::kInt4, .granularity = Granularity::kBlocks, .zeros = true};
  ValueId y = net.product(x, form, kOuter, kInner, "first");
  y = net.graph.emit("Add", {y, net.constant("b", net.drawn(DType::kFloat32, {kOuter}, -1, 1))}, {},
                     "sum");
  y = net.graph.emit("Relu", {y}, {}, "relu");
  y = net.product(y, {.type = DType::kFloat8E4M3FN}, 33, kOuter, "second");
  net.graph.mark_output(y);
  expect_coded_bits(net.graph, {net.drawn(DType::kFloat32, {2, 3, kInner}, -1, 1)}, 2);
  const auto lowered = lower(net.graph).value();
  EXPECT_EQ(lowered.graph.nodes().size(), 2U) << "something was not fused";
}

TEST(CodedWeights, GemmOfAFlattenedImage) {
  for (const DType type : {DType::kUint8, DType::kInt4, DType::kFloat8E5M2})
    for (const bool blocks : {false, true}) {
      SCOPED_TRACE(std::string(name(type)) + (blocks ? " blocks" : ""));
      CodedNet net(7);
      const ValueId image = net.input({Dim::symbol("N"), Dim(4), Dim(5), Dim(2)});
      const ValueId w = net.constant("w", net.drawn(DType::kFloat32, {8, 4, 1, 1}, -1, 1));
      ValueId y = net.graph.emit("Conv", {image, w}, {}, "conv");
      y = net.graph.emit("Flatten", {y}, int_attributes({{"axis", 1}}), "flat");
      const CodedForm form{.type = type,
                           .granularity = blocks ? Granularity::kBlocks : Granularity::kChannel,
                           .zeros = type == DType::kUint8};
      y = net.graph.emit("Gemm",
                         {y, net.stored(form, true, 10, 80, "stored"),
                          net.constant("b", net.drawn(DType::kFloat32, {10}, -1, 1))},
                         int_attributes({{"transB", 1}}), "gemm");
      net.graph.mark_output(y);
      const std::vector<Tensor> x = {net.drawn(DType::kFloat32, {3, 4, 5, 2}, -1, 1)};
      if (!blocks) {
        expect_coded_bits(net.graph, x, 1);
        continue;
      }
      // The sum goes in the source's order, not in that of images in memory.
      const auto lowered = lower(net.graph).value();
      EXPECT_EQ(coded_products(lowered.graph), 1);
      const auto want = make_reference_executor(lowered.graph).value()->run(x).value();
      const auto exact = make_reference_executor(net.graph).value()->run(x).value();
      Session session = Session::create(net.graph, {.threads = 2}).value();
      const auto got = session.run(x).value();
      EXPECT_TRUE(got[0].identical(want[0]));
      for (int64_t i = 0; i < got[0].count(); ++i)
        ASSERT_NEAR(got[0].at(i), exact[0].at(i), 1e-3 * (1 + std::abs(exact[0].at(i))));
    }
}

TEST(CodedWeights, SharedWeightsAndOtherReaders) {
  CodedNet net(9);
  const ValueId x = net.input(open_rows(kInner));
  const ValueId w = net.stored({.type = DType::kInt8, .granularity = Granularity::kBlocks}, false,
                               kInner, kInner, "shared");
  ValueId y = net.graph.emit("MatMul", {x, w}, {}, "first");
  y = net.graph.emit("MatMul", {y, w}, {}, "second");
  net.graph.mark_output(y);
  net.graph.mark_output(net.graph.emit("ReduceSum", {w}, {}, "read as numbers"));
  expect_coded_bits(net.graph, {net.drawn(DType::kFloat32, {5, kInner}, -1, 1)}, 2);
}

TEST(CodedWeights, ScalesAlongTheSumStayFloats) {
  for (const bool blocked : {false, true}) {
    CodedNet net(11);
    const ValueId x = net.input(open_rows(kInner));
    const Shape scales = blocked ? Shape{kInner, 5} : Shape{kInner};
    const ValueId w = net.graph.emit(
        "DequantizeLinear",
        {net.constant("codes", net.drawn(DType::kInt8, {kInner, kOuter}, -128, 127)),
         net.constant("scale", net.drawn(DType::kFloat32, scales, 0.01, 0.1))},
        blocked ? int_attributes({{"axis", 1}, {"block_size", 14}}) : int_attributes({{"axis", 0}}),
        "w");
    net.graph.mark_output(net.graph.emit("MatMul", {x, w}, {}, "y"));
    expect_coded_bits(net.graph, {net.drawn(DType::kFloat32, {3, kInner}, -1, 1)}, 0);
  }
}

TEST(CodedWeights, RowsOfABatchAreIndependent) {
  CodedNet net(13);
  const ValueId x = net.input(open_rows(kInner));
  net.graph.mark_output(net.product(x, {.type = DType::kInt4, .granularity = Granularity::kBlocks},
                                    kOuter, kInner, "p"));
  Session session = Session::create(net.graph, {.threads = 2}).value();
  constexpr int64_t kRows = 101;
  const Tensor all = net.drawn(DType::kFloat32, {kRows, kInner}, -1, 1);
  const Tensor want = session.run(std::vector<Tensor>{all}).value()[0];
  for (const int64_t rows : {1, 2, 3, 12, 97}) {
    const auto part = all.data<float>().first(static_cast<size_t>(rows * kInner));
    const Tensor got =
        session.run(std::vector<Tensor>{Tensor::of<float>({rows, kInner}, part)}).value()[0];
    const auto first = want.data<float>().first(static_cast<size_t>(rows * kOuter));
    EXPECT_TRUE(got.identical(Tensor::of<float>({rows, kOuter}, first))) << rows;
  }
}

TEST(CodedWeights, StoresHoldThem) {
  CodedNet net(15);
  const ValueId x = net.input(open_rows(kInner));
  std::vector<ValueId> parts;
  for (const DType type : {DType::kInt8, DType::kUint4, DType::kInt2, DType::kFloat8E5M2})
    for (const bool zeros : {false, true})
      parts.push_back(
          net.product(x, {.type = type, .granularity = Granularity::kBlocks, .zeros = zeros}, 200,
                      kInner, std::string(name(type)) + (zeros ? "z" : "")));
  net.graph.mark_output(net.graph.emit("Concat", parts, int_attributes({{"axis", 1}}), "y"));
  for (const Isa isa : known_isas())
    if (isa_supported(isa))
      test::expect_stored_bits(net.graph, {net.drawn(DType::kFloat32, {3, kInner}, -1, 1)}, isa);
}

TEST(CodedWeights, AreNeverThereAsFloats) {
  if (test::kSanitized) GTEST_SKIP() << "the sanitizers keep memory that was given back";
  constexpr int64_t kSize = 4096, kCodes = kSize * kSize / 2;
  for (const bool transposed : {false, true}) {
    CodedNet net(17);
    const ValueId x = net.input({Dim(1), Dim(kSize)});
    Tensor codes = Tensor::zeros(DType::kInt4, {kSize, kSize}).value();
    size_t at = 0;
    for (std::byte& b : codes.mutable_bytes())
      b = static_cast<std::byte>(at++ * 37 & 255);
    const Shape scales = transposed ? Shape{kSize, kSize / 32} : Shape{kSize / 32, kSize};
    ValueId w =
        net.graph.emit("DequantizeLinear",
                       {net.constant("codes", std::move(codes)),
                        net.constant("scale", net.drawn(DType::kFloat32, scales, 0.01, 0.1))},
                       int_attributes({{"axis", transposed ? 1 : 0}, {"block_size", 32}}), "w");
    if (transposed) w = net.graph.emit("Transpose", {w}, {}, "turned");
    net.graph.mark_output(net.graph.emit("MatMul", {x, w}, {}, "y"));
    const Tensor row = net.drawn(DType::kFloat32, {1, kSize}, -1, 1);
    const int64_t growth = test::peak_growth([&] {
      Session session = Session::create(net.graph, {.threads = 1}).value();
      const SessionMemory memory = session.memory();
      // Codes and a scale of 4 bytes for each 32.
      if (memory.packed > kCodes * 13 / 10 || memory.constants > kCodes / 8) return false;
      return session.run(std::vector<Tensor>{row}).ok();
    });
    ASSERT_GE(growth, 0) << "more packed than codes and scales";
    EXPECT_LT(growth, 4 * kSize * kSize) << "one float for each code";
  }
}

TEST(CodedWeights, MatMulNBitsStaysCodes) {
  for (const int64_t bits : {2, 4, 8})
    for (const int64_t block : {16, 32})
      for (const bool zeros : {false, true})
        for (const bool bias : {false, true}) {
          SCOPED_TRACE(std::to_string(bits) + " bits, block " + std::to_string(block) +
                       (zeros ? ", zeros" : "") + (bias ? ", bias" : ""));
          constexpr int64_t kN = 35, kK = 45;
          const int64_t blocks = (kK + block - 1) / block;
          CodedNet net(21, 17);
          net.graph.opsets["com.microsoft"] = 1;
          const ValueId x = net.input({Dim::symbol("N"), Dim(2), Dim(kK)});
          const auto bytes = [&](Shape shape) {
            Tensor t = Tensor::zeros(DType::kUint8, std::move(shape)).value();
            for (std::byte& b : t.mutable_bytes())
              b = static_cast<std::byte>(net.rng() & 255);
            return t;
          };
          std::vector<ValueId> inputs = {
              x,
              net.constant("codes", bytes({kN, blocks, block * bits / 8})),
              net.constant("scales", net.drawn(DType::kFloat32, {kN, blocks}, 0.001, 0.01)),
              zeros ? net.constant("zeros", bytes({kN, (blocks * bits + 7) / 8})) : ValueId{},
              ValueId{},
              bias ? net.constant("bias", net.drawn(DType::kFloat32, {kN}, -1, 1)) : ValueId{}};
          ValueId y = net.graph.emit(
              "MatMulNBits", std::move(inputs),
              int_attributes({{"N", kN}, {"K", kK}, {"bits", bits}, {"block_size", block}}), "y",
              "com.microsoft");
          y = net.graph.emit("Relu", {y}, {}, "relu");
          net.graph.mark_output(y);
          const std::vector<Tensor> rows = {net.drawn(DType::kFloat32, {3, 2, kK}, -1, 1)};
          const auto exact = make_reference_executor(net.graph).value()->run(rows).value();
          const auto lowered = lower(net.graph).value();
          EXPECT_EQ(coded_products(lowered.graph), 1);
          EXPECT_EQ(lowered.graph.nodes().size(), 1U) << "something was not fused";
          Session session = Session::create(net.graph, {.threads = 1}).value();
          const auto got = session.run(rows).value();
          const auto specified = make_reference_executor(lowered.graph).value()->run(rows).value();
          EXPECT_TRUE(got[0].identical(specified[0]));
          for (int64_t i = 0; i < got[0].count(); ++i)
            ASSERT_NEAR(got[0].at(i), exact[0].at(i), 1e-4);
        }
}

TEST(CodedWeights, Fp8ActivationsRunByKernels) {
  for (const DType type : {DType::kFloat8E4M3FN, DType::kFloat8E5M2}) {
    CodedNet net(19);
    const ValueId x = net.input(open_rows(kInner));
    const ValueId scale = net.constant("x scale", Tensor::scalar(0.02F)),
                  zero = net.constant("x zero",
                                      Tensor::from_doubles(type, {}, std::vector{0.0}).value());
    const ValueId q = net.graph.emit("QuantizeLinear", {x, scale, zero}, {}, "q");
    const ValueId dq = net.graph.emit("DequantizeLinear", {q, scale, zero}, {}, "dq");
    net.graph.mark_output(net.product(dq, {.type = type}, kOuter, kInner, "p"));
    expect_coded_bits(net.graph, {net.drawn(DType::kFloat32, {3, kInner}, -1, 1)}, 1);
    // What Q and DQ give is ONNX's.
    net.graph.mark_output(dq);
    const std::vector<Tensor> rows = {net.drawn(DType::kFloat32, {7, kInner}, -12, 12)};
    const auto want = make_reference_executor(net.graph).value()->run(rows).value();
    Session session = Session::create(net.graph, {.threads = 2}).value();
    EXPECT_TRUE(session.run(rows).value()[1].identical(want[1]));
  }
}

} // namespace
} // namespace octet
