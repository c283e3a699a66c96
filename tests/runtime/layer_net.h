// SPDX-License-Identifier: Apache-2.0
// Small networks of 8-bit layers written by hand, and the comparison that each must stand: native
// on every instruction set, its lowered graph and the file's own meaning.
#pragma once

#include <string>
#include <vector>

#include "core/cpu.h"
#include "core/philox.h"
#include "passes/lower/lower.h"
#include <gtest/gtest.h>

#include "octet/executor.h"
#include "octet/passes.h"
#include "octet/session.h"

namespace octet::test {

/// Scale and zero point of a tensor of codes.
struct Coding {
  float scale = 0.05F;
  int64_t zero = 0;
  DType type = DType::kInt8;
};

class LayerNet {
 public:
  explicit LayerNet(uint64_t seed, int64_t opset = 17) : random_(seed) { g_.opsets[""] = opset; }

  ValueId input(std::vector<Dim> dims) {
    return g_.add_input(fresh("x"), {DType::kFloat32, std::move(dims), {}});
  }
  ValueId constant(Tensor t) { return g_.add_constant(fresh("c"), std::move(t)); }
  ValueId op(const std::string& type, std::vector<ValueId> inputs, Attributes attributes = {}) {
    return g_.emit(type, std::move(inputs), std::move(attributes), fresh(type));
  }
  ValueId quantize(ValueId x, const Coding& c) {
    return op("QuantizeLinear", {x, constant(Tensor::scalar(c.scale)), zero(c)});
  }
  ValueId dequantize(ValueId q, const Coding& c) {
    return op("DequantizeLinear", {q, constant(Tensor::scalar(c.scale)), zero(c)});
  }
  /// Q and DQ.
  ValueId codes(ValueId x, const Coding& c) { return dequantize(quantize(x, c), c); }
  /// DynamicQuantizeLinear: codes, scale, zero point.
  std::vector<ValueId> dynamic_codes(ValueId x) {
    const ValueId q = g_.emit("DynamicQuantizeLinear", {x}, {}, fresh("dynamic"), {}, 3);
    return g_.producer(q)->outputs;
  }
  /// Codes of any 8-bit type, not dequantized.
  ValueId plain_codes(Shape shape, DType type) {
    std::vector<double> codes(static_cast<size_t>(element_count(shape).value()));
    for (double& w : codes)
      w = static_cast<double>(random_.below(256)) - (type == DType::kInt8 ? 128 : 0);
    return constant(Tensor::from_doubles(type, std::move(shape), codes).value());
  }
  /// int8 codes from `low` to 127 behind DQ.
  ValueId weights(Shape shape, float scale, int64_t low = -100) {
    Tensor codes = Tensor::zeros(DType::kInt8, std::move(shape)).value();
    for (int8_t& w : codes.mutable_data<int8_t>())
      w = static_cast<int8_t>(low + random_.below(128 - low));
    return dequantize(constant(std::move(codes)), {.scale = scale});
  }
  /// `pads` as ONNX has them.
  ValueId conv(ValueId x, ValueId w, std::vector<int64_t> pads = {0, 0, 0, 0}, int64_t group = 1) {
    Attributes a;
    a["pads"].value = std::move(pads);
    a["group"].value = group;
    return op("Conv", {x, w}, std::move(a));
  }
  ValueId gemm(ValueId x, int64_t columns, int64_t depth) {
    Attributes a;
    a["transB"].value = int64_t{1};
    return op("Gemm", {x, weights({columns, depth}, 0.003F)}, std::move(a));
  }
  ValueId clip(ValueId x, float low, float high) {
    return op("Clip", {x, constant(Tensor::scalar(low)), constant(Tensor::scalar(high))});
  }
  Graph done(const std::vector<ValueId>& outputs) {
    for (const ValueId y : outputs)
      g_.mark_output(y);
    return std::move(g_);
  }
  Tensor random_tensor(Shape shape, double reach = 6) {
    Tensor t = Tensor::zeros(DType::kFloat32, std::move(shape)).value();
    for (float& v : t.mutable_data<float>())
      v = static_cast<float>(random_.uniform(-reach, reach));
    return t;
  }

 private:
  std::string fresh(const std::string& name) { return name + std::to_string(next_++); }
  ValueId zero(const Coding& c) {
    const std::vector<double> zero{static_cast<double>(c.zero)};
    return constant(Tensor::from_doubles(c.type, {}, zero).value());
  }

  Graph g_;
  Philox random_;
  int next_ = 0;
};

/// Random tensors for all inputs, whose shapes are known.
inline std::vector<Tensor> inputs_of(LayerNet& net, const Graph& g) {
  std::vector<Tensor> out;
  for (const ValueId id : g.inputs())
    out.push_back(net.random_tensor(*g.value(id).type.static_shape()));
  return out;
}

/// How many nodes of an operator of octet.native the graph becomes.
inline int count_lowered(const Graph& graph, std::string_view op) {
  const Lowered lowered = lower(graph).value();
  int count = 0;
  for (const NodeId id : lowered.graph.nodes())
    count += lowered.graph.node(id).is(op, "octet.native") ? 1 : 0;
  return count;
}

/// What the reference executor makes of it.
inline std::vector<Tensor> by_reference(const Graph& graph, const std::vector<Tensor>& inputs) {
  auto out = make_reference_executor(graph).value()->run(inputs);
  EXPECT_TRUE(out.ok()) << out.error().text();
  return out.ok() ? *out : std::vector<Tensor>{};
}

inline Graph simplified(Graph graph) {
  EXPECT_TRUE(simplify(graph).ok());
  return graph;
}

/// Native has the bits of `want` on every instruction set.
inline void expect_native(const Graph& graph,
                          const std::vector<Tensor>& inputs,
                          const std::vector<Tensor>& want,
                          int threads) {
  for (const Isa isa : known_isas()) {
    if (!isa_supported(isa)) continue;
    auto session = Session::create(graph, {.threads = threads, .isa = std::string(isa_name(isa))});
    ASSERT_TRUE(session.ok()) << session.error().text();
    const auto native = session->run(inputs);
    ASSERT_TRUE(native.ok()) << native.error().text();
    ASSERT_EQ(native->size(), want.size());
    for (size_t k = 0; k < want.size(); ++k)
      EXPECT_TRUE((*native)[k].identical(want[k]))
          << isa_name(isa) << ", " << threads << " threads, output " << k;
  }
}

/// Fusing changes no bit, and native has those bits with one thread and two.
inline void expect_fused_bits(const Graph& graph, const std::vector<Tensor>& inputs) {
  const Graph source = simplified(graph);
  const auto apart = by_reference(lower(source, {.fuse = false}).value().graph, inputs);
  const auto together = by_reference(lower(source).value().graph, inputs);
  ASSERT_EQ(apart.size(), graph.outputs().size());
  ASSERT_EQ(together.size(), apart.size());
  for (size_t k = 0; k < apart.size(); ++k)
    EXPECT_TRUE(together[k].identical(apart[k])) << "as one by the reference, output " << k;
  for (const int threads : {1, 2})
    expect_native(graph, inputs, apart, threads);
}

/// Native has the bits of the lowered graph by the reference; that differs from the graph as it is
/// by less than `step`, which is one code of the outputs and less than what other mistakes give.
inline void expect_meaning(const Graph& graph, const std::vector<Tensor>& inputs, double step) {
  const std::vector<Tensor> literal = by_reference(graph, inputs);
  const std::vector<Tensor> lowered = by_reference(lower(simplified(graph)).value().graph, inputs);
  ASSERT_EQ(literal.size(), lowered.size());
  for (size_t k = 0; k < literal.size(); ++k) {
    ASSERT_EQ(literal[k].shape(), lowered[k].shape());
    double worst = 0;
    for (int64_t i = 0; i < literal[k].count(); ++i)
      worst = std::max(worst, std::abs(literal[k].at(i) - lowered[k].at(i)));
    EXPECT_LT(worst, step * 1.01) << "output " << k;
  }
  expect_native(graph, inputs, lowered, 2);
}

} // namespace octet::test
