// SPDX-License-Identifier: Apache-2.0
// Models of which each has loops that share memory or work in scratch memory of their threads:
// products, convolutions, attention, rows quantized while they run. Two sizes of input each.
#pragma once

#include <string>
#include <vector>

#include "core/philox.h"
#include "runtime/bert_graphs.h"

#include "octet/graph.h"

namespace octet::test {

/// A chain of quantized layers, built from its input on; ends in `build()`.
class ChainBuilder {
 public:
  explicit ChainBuilder(std::vector<Dim> shape) {
    g_.opsets[""] = 17;
    at_ = g_.add_input("x", {DType::kFloat32, std::move(shape), {}});
  }

  ChainBuilder& codes(float scale) {
    const ValueId s = constant(Tensor::scalar(scale)), z = constant(Tensor::scalar<int8_t>(0));
    const ValueId q = g_.emit("QuantizeLinear", {at_, s, z}, {}, next());
    at_ = g_.emit("DequantizeLinear", {q, s, z}, {}, next());
    return *this;
  }
  ChainBuilder& product(int64_t k, int64_t n) {
    at_ = g_.emit("MatMul", {at_, weights({k, n})}, {}, next());
    return codes(0.3F);
  }
  ChainBuilder& conv(int64_t in, int64_t out, int64_t kernel, int64_t group) {
    Attributes attributes;
    attributes["group"].value = group;
    attributes["pads"].value = std::vector<int64_t>(4, kernel / 2);
    at_ = g_.emit("Conv", {at_, weights({out, in / group, kernel, kernel})}, attributes, next());
    return codes(0.2F);
  }
  /// Rows are quantized by scales of their own while it runs.
  ChainBuilder& dynamic_product(int64_t k, int64_t n) {
    g_.opsets["octet.native"] = 1;
    const ValueId scale = constant(Tensor::scalar(0.003F).reshaped({1}).value());
    at_ = g_.emit("QDynamicGemm", {at_, random_codes({n, k}), scale}, {}, next(), "octet.native");
    return *this;
  }

  Graph build() {
    g_.rename(at_, "y");
    g_.mark_output(at_);
    return std::move(g_);
  }

 private:
  std::string next() { return "v" + std::to_string(++count_); }
  ValueId constant(Tensor t) { return g_.add_constant(next(), std::move(t)); }
  ValueId random_codes(Shape shape) {
    Tensor t = Tensor::zeros(DType::kInt8, std::move(shape)).value();
    for (int8_t& c : t.mutable_data<int8_t>())
      c = static_cast<int8_t>(random_.below(201) - 100);
    return constant(std::move(t));
  }
  ValueId weights(Shape shape) {
    return g_.emit("DequantizeLinear",
                   {random_codes(std::move(shape)), constant(Tensor::scalar(0.003F)),
                    constant(Tensor::scalar<int8_t>(0))},
                   {}, next());
  }

  Graph g_;
  ValueId at_;
  Philox random_{5};
  int count_ = 0;
};

struct SchedulerModel {
  std::string name;
  Graph graph;
  std::vector<std::vector<Tensor>> feeds; ///< inputs of each size
};

inline Tensor random_floats(Shape shape, uint64_t seed) {
  Tensor t = Tensor::zeros(DType::kFloat32, std::move(shape)).value();
  Philox random(seed);
  for (float& v : t.mutable_data<float>())
    v = static_cast<float>(random.uniform(-2.5, 2.5));
  return t;
}

inline std::vector<SchedulerModel> scheduler_models() {
  const Dim n = Dim::symbol("N");
  std::vector<SchedulerModel> models;
  // Lines of which more are packed at a time than others have, and lengths that are no multiple
  // of 4; columns enough for chunks where products are fastest.
  models.push_back(
      {"gemm",
       ChainBuilder({n, 190}).codes(0.03F).product(190, 2600).product(2600, 160).build(),
       {{random_floats({96, 190}, 1)}, {random_floats({33, 190}, 2)}}});
  models.push_back({"conv",
                    ChainBuilder({n, 8, 12, 12})
                        .codes(0.03F)
                        .conv(8, 48, 3, 1)
                        .conv(48, 48, 3, 48)
                        .conv(48, 64, 3, 4)
                        .conv(64, 80, 1, 1)
                        .build(),
                    {{random_floats({4, 8, 12, 12}, 3)}, {random_floats({1, 8, 12, 12}, 4)}}});
  models.push_back({"wide conv",
                    ChainBuilder({n, 24, Dim::symbol("H"), 10})
                        .codes(0.03F)
                        .conv(24, 96, 3, 1)
                        .conv(96, 40, 5, 1)
                        .build(),
                    {{random_floats({1, 24, 14, 10}, 5)}, {random_floats({2, 24, 9, 10}, 6)}}});
  models.push_back({"dynamic",
                    ChainBuilder({n, 130}).dynamic_product(130, 4400).build(),
                    {{random_floats({80, 130}, 7)}, {random_floats({21, 130}, 8)}}});
  for (const bool quantized : {true, false})
    models.push_back({quantized ? "attention" : "float attention",
                      BertBuilder({.quantized = quantized,
                                   .layers = 1,
                                   .heads = 4,
                                   .head = quantized ? 18 : 12,
                                   .inner = 200})
                          .build(),
                      {random_tokens(5, 33, 9), random_tokens(8, 12, 10)}});
  return models;
}

} // namespace octet::test
