// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN: the native bits are those of the lowered graph's reference on every
// instruction set, and near the ONNX operator in double.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/cpu.h"
#include "core/philox.h"
#include "graph/domains.h"
#include "passes/lower/lower.h"
#include <gtest/gtest.h>

#include "octet/executor.h"
#include "octet/session.h"

namespace octet {
namespace {

/// One layer as it is drawn, with inputs for a run.
struct Drawn {
  Graph graph;
  std::vector<Tensor> inputs;
  bool bounded;     ///< with Relu, states may grow without end
  std::string text; ///< for messages
};

struct Source {
  Philox random;

  int64_t pick(std::initializer_list<int64_t> from) {
    return from.begin()[random.below(static_cast<uint32_t>(from.size()))];
  }
  bool chance(double p) { return random.uniform(0, 1) < p; }
  Tensor floats(const Shape& shape, double spread) {
    Tensor t = Tensor::zeros(DType::kFloat32, shape).value();
    for (float& v : t.mutable_data<float>())
      v = static_cast<float>(random.uniform(-spread, spread));
    return t;
  }
};

TypeInfo tensor(DType type, const Shape& shape) {
  return {type, std::vector<Dim>(shape.begin(), shape.end()), {}};
}

class Maker {
 public:
  Maker(uint64_t seed, bool odd_values, bool in_codes = false)
      : s_{Philox(seed)}, odd_values_(odd_values), in_codes_(in_codes) {}

  Drawn make() {
    const std::string op = std::string(s_.pick({0, 1, 2}) == 0 ? "LSTM"
                                       : s_.chance(0.6)        ? "GRU"
                                                               : "RNN");
    const int64_t gates = op == "LSTM" ? 4 : op == "GRU" ? 3 : 1;
    const int64_t h = s_.pick({1, 3, 7, 8, 10, 16, 19, 32, 33, 48}), i = s_.pick({1, 2, 5, 16, 21});
    const int64_t n = s_.pick({1, 1, 2, 3, 5, 8, 50}), t = s_.pick({0, 1, 2, 5, 9, 23});
    const std::string way = std::array{"forward", "reverse", "bidirectional"}[s_.random.below(3)];
    const int64_t d = way == "bidirectional" ? 2 : 1;
    const bool batch_first = s_.chance(0.4);
    graph_.opsets[""] = 17;
    node_.op_type = op;
    node_.name = "layer";
    node_.set("direction", way);
    node_.set("hidden_size", h);
    node_.set("layout", int64_t{batch_first});
    const double spread = 2 / std::sqrt(static_cast<double>(h));
    Tensor x = s_.floats(batch_first ? Shape{n, t, i} : Shape{t, n, i}, 2);
    if (odd_values_)
      for (float& v : x.mutable_data<float>())
        if (s_.chance(0.02)) v = s_.chance(0.5) ? NAN : std::numeric_limits<float>::infinity();
    input("x", x);
    if (in_codes_) {
      x_in_codes();
      weights_in_codes({d, gates * h, i});
    } else {
      constant("w", s_.floats({d, gates * h, i}, 1.0));
    }
    constant("r", s_.floats({d, gates * h, h}, spread));
    if (s_.chance(0.8)) constant("b", s_.floats({d, 2 * gates * h}, 0.5), 3);
    if (s_.chance(0.4)) {
      Tensor lengths = Tensor::zeros(DType::kInt32, {n}).value();
      for (int32_t& v : lengths.mutable_data<int32_t>())
        v = static_cast<int32_t>(s_.random.below(static_cast<uint32_t>(t + 1)));
      input("lengths", lengths, 4);
    }
    const Shape state = batch_first ? Shape{n, d, h} : Shape{d, n, h};
    if (s_.chance(0.5)) input("h0", s_.floats(state, 1), 5);
    if (gates == 4 && s_.chance(0.5)) input("c0", s_.floats(state, 1), 6);
    if (gates == 4 && s_.chance(0.3)) constant("p", s_.floats({d, 3 * h}, 0.5), 7);
    rules(gates, d);
    outputs(gates == 4 ? 3 : 2);
    graph_.add_node(node_);
    return {graph_, inputs_, bounded_,
            op + " " + way + " h=" + std::to_string(h) + " i=" + std::to_string(i) +
                " n=" + std::to_string(n) + " t=" + std::to_string(t)};
  }

 private:
  /// What node 0 of the layer's inputs is goes through Q and DQ.
  void x_in_codes() {
    const bool is_signed = s_.chance(0.5);
    const ValueId scale = graph_.add_constant("x_scale", Tensor::scalar<float>(0.03F));
    const ValueId zero = is_signed ? graph_.add_constant("x_zero", Tensor::scalar<int8_t>(-7))
                                   : graph_.add_constant("x_zero", Tensor::scalar<uint8_t>(131));
    const ValueId codes = graph_.emit("QuantizeLinear", {node_.inputs[0], scale, zero});
    node_.inputs[0] = graph_.emit("DequantizeLinear", {codes, scale, zero});
  }

  /// Scales for the whole, each direction or each row of gates; zero points that may be others than
  /// 0.
  void weights_in_codes(const Shape& shape) {
    const bool is_signed = s_.chance(0.7);
    const DType type = is_signed ? DType::kInt8 : DType::kUint8;
    Tensor codes = Tensor::zeros(type, shape).value();
    for (std::byte& code : codes.mutable_bytes())
      code = static_cast<std::byte>(s_.random.below(256));
    const int64_t axis = s_.pick({-1, 0, 1, 1});
    const Shape own = axis < 0 ? Shape{} : Shape{shape[static_cast<size_t>(axis)]};
    Tensor scales = Tensor::zeros(DType::kFloat32, own).value(),
           zeros = Tensor::zeros(type, own).value();
    for (float& v : scales.mutable_data<float>())
      v = static_cast<float>(s_.random.uniform(0.004, 0.008));
    const bool several_zeros = s_.chance(0.2);
    for (std::byte& zero : zeros.mutable_bytes())
      zero =
          static_cast<std::byte>((is_signed ? 0 : 128) + (several_zeros ? s_.random.below(3) : 0));
    Attributes attributes;
    if (axis >= 0) attributes["axis"].value = axis;
    at(1, graph_.emit("DequantizeLinear",
                      {graph_.add_constant("w", codes), graph_.add_constant("w_scale", scales),
                       graph_.add_constant("w_zero", zeros)},
                      attributes));
  }

  void rules(int64_t gates, int64_t directions) {
    if (gates == 3 && s_.chance(0.5)) node_.set("linear_before_reset", int64_t{1});
    if (gates == 4 && s_.chance(0.2)) node_.set("input_forget", int64_t{1});
    if (s_.chance(0.2)) node_.set("clip", 0.75F);
    if (!s_.chance(0.3)) return;
    std::vector<std::string> names;
    const int64_t functions = gates == 4 ? 3 : gates == 3 ? 2 : 1;
    for (int64_t k = 0; k < functions * directions; ++k)
      names.emplace_back(std::array{"Sigmoid", "Tanh", "Relu", "HardSigmoid"}[s_.random.below(4)]);
    bounded_ = std::count(names.begin(), names.end(), "Relu") == 0;
    node_.attributes["activations"].value = names;
    if (s_.chance(0.5)) node_.attributes["activation_alpha"].value = std::vector<float>{0.3F};
  }

  void outputs(int64_t count) {
    const int64_t kept = s_.pick({0, 0, 1, 2});
    for (int64_t k = 0; k < count; ++k) {
      if (kept != 0 && k == kept - 1) {
        node_.outputs.emplace_back();
        continue;
      }
      const ValueId id = graph_.add_value(std::array{"y", "yh", "yc"}[static_cast<size_t>(k)]);
      node_.outputs.push_back(id);
      graph_.mark_output(id);
    }
  }

  void at(size_t place, ValueId id) {
    if (node_.inputs.size() <= place) node_.inputs.resize(place + 1);
    node_.inputs[place] = id;
  }
  void input(const std::string& name, const Tensor& t, size_t place = 0) {
    at(place, graph_.add_input(name, tensor(t.type(), t.shape())));
    inputs_.push_back(t);
  }
  void constant(const std::string& name, const Tensor& t, size_t place = 0) {
    at(place != 0 ? place : name == "w" ? 1 : 2, graph_.add_constant(name, t));
  }

  Source s_;
  bool odd_values_, in_codes_;
  bool bounded_ = true;
  Graph graph_;
  Node node_;
  std::vector<Tensor> inputs_;
};

/// A DynamicQuantizeLSTM of com.microsoft.
class DynamicMaker {
 public:
  explicit DynamicMaker(uint64_t seed) : s_{Philox(seed)} {}

  Drawn make(bool odd_values) {
    const int64_t h = s_.pick({1, 3, 7, 8, 16, 19, 33, 48}), i = s_.pick({1, 2, 5, 16, 21});
    const int64_t n = s_.pick({1, 1, 2, 3, 8, 50}), t = s_.pick({0, 1, 2, 5, 9, 23});
    const std::string way = std::array{"forward", "reverse", "bidirectional"}[s_.random.below(3)];
    const int64_t d = way == "bidirectional" ? 2 : 1;
    graph_.opsets[""] = 17;
    graph_.opsets[kMicrosoft] = 1;
    node_.op_type = "DynamicQuantizeLSTM";
    node_.domain = kMicrosoft;
    node_.name = "layer";
    node_.inputs.resize(12);
    node_.set("direction", way);
    node_.set("hidden_size", h);
    Tensor x = s_.floats({t, n, i}, 2);
    if (odd_values)
      for (float& v : x.mutable_data<float>())
        if (s_.chance(0.02)) v = NAN;
    input("x", x, 0);
    weights(1, {d, i, 4 * h});
    weights(2, {d, h, 4 * h});
    if (s_.chance(0.7)) constant("b", s_.floats({d, 8 * h}, 0.5), 3);
    if (s_.chance(0.5)) input("h0", s_.floats({d, n, h}, 1), 5);
    if (s_.chance(0.5)) input("c0", s_.floats({d, n, h}, 1), 6);
    if (s_.chance(0.3)) constant("p", s_.floats({d, 3 * h}, 0.5), 7);
    if (s_.chance(0.2)) node_.set("input_forget", int64_t{1});
    const int64_t left_out = s_.pick({-1, -1, 0, 1, 2});
    for (int64_t k = 0; k < 3; ++k) {
      node_.outputs.push_back(
          k == left_out ? ValueId{}
                        : graph_.add_value(std::array{"y", "yh", "yc"}[static_cast<size_t>(k)]));
      if (k != left_out) graph_.mark_output(node_.outputs.back());
    }
    graph_.add_node(node_);
    return {graph_, inputs_, true,
            way + " h=" + std::to_string(h) + " i=" + std::to_string(i) +
                " n=" + std::to_string(n) + " t=" + std::to_string(t)};
  }

 private:
  void input(const std::string& name, const Tensor& t, size_t place) {
    node_.inputs[place] = graph_.add_input(name, tensor(t.type(), t.shape()));
    inputs_.push_back(t);
  }
  void constant(const std::string& name, const Tensor& t, size_t place) {
    node_.inputs[place] = graph_.add_constant(name, t);
  }
  /// Codes with their scales and zero points, one for each direction or column.
  void weights(size_t place, const Shape& shape) {
    const std::string name = place == 1 ? "w" : "r";
    const bool is_signed = s_.chance(0.5), by_column = s_.chance(0.4);
    Tensor codes = Tensor::zeros(is_signed ? DType::kInt8 : DType::kUint8, shape).value();
    for (std::byte& code : codes.mutable_bytes())
      code = static_cast<std::byte>(s_.random.below(256));
    const Shape own = by_column ? Shape{shape[0], shape[2]} : Shape{shape[0]};
    Tensor scales = s_.floats(own, 0), zeros = Tensor::zeros(codes.type(), own).value();
    for (float& v : scales.mutable_data<float>())
      v = static_cast<float>(s_.random.uniform(0.002, 0.008));
    for (std::byte& zero : zeros.mutable_bytes())
      zero = static_cast<std::byte>(is_signed ? 0 : 128);
    constant(name, codes, place);
    constant(name + "_scale", scales, 6 + 2 * place);
    constant(name + "_zero", zeros, 7 + 2 * place);
  }

  Source s_;
  Graph graph_;
  Node node_;
  std::vector<Tensor> inputs_;
};

void expect_same_bits(const Tensor& got, const Tensor& want) {
  ASSERT_EQ(got.shape(), want.shape());
  const auto a = got.data<float>(), b = want.data<float>();
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    ASSERT_TRUE(a[i] == b[i] && std::signbit(a[i]) == std::signbit(b[i]))
        << "element " << i << ": " << a[i] << ", want " << b[i];
  }
}

/// `near`: how near the operator in double; 0: anywhere.
void check(const Drawn& drawn, double near) {
  SCOPED_TRACE(drawn.text);
  const auto lowered = lower(drawn.graph);
  ASSERT_TRUE(lowered.ok()) << lowered.error().text();
  const auto want = make_reference_executor(lowered->graph).value()->run(drawn.inputs);
  ASSERT_TRUE(want.ok()) << want.error().text();
  const auto exact = make_reference_executor(drawn.graph).value()->run(drawn.inputs);
  ASSERT_TRUE(exact.ok()) << exact.error().text();
  for (size_t k = 0; near > 0 && drawn.bounded && k < want->size(); ++k)
    for (int64_t i = 0; i < (*want)[k].count(); ++i)
      ASSERT_NEAR((*want)[k].at(i), (*exact)[k].at(i), near);
  for (const Isa isa : known_isas()) {
    if (!isa_supported(isa)) continue;
    for (const int threads : {1, 3}) {
      SCOPED_TRACE(std::string(isa_name(isa)) + " threads " + std::to_string(threads));
      auto session = Session::create(
          drawn.graph, {.threads = threads, .isa = std::string(isa_name(isa)), .lower = true});
      ASSERT_TRUE(session.ok()) << session.error().text();
      for (const PlannedNode& node : session->plan())
        EXPECT_NE(node.kernel, "reference") << node.node << ": " << node.why;
      const auto got = session->run(drawn.inputs);
      ASSERT_TRUE(got.ok()) << got.error().text();
      for (size_t k = 0; k < want->size(); ++k)
        expect_same_bits((*got)[k], (*want)[k]);
    }
  }
}

TEST(Recurrent, KernelsEqualTheReference) {
  for (uint64_t seed = 0; seed < 150; ++seed)
    check(Maker(seed, false).make(), 2e-4);
}

TEST(Recurrent, NanAndInfinityPass) {
  for (uint64_t seed = 1000; seed < 1040; ++seed)
    check(Maker(seed, true).make(), 0);
}

// Sums of x are exact before they are scaled.
TEST(Recurrent, SumsOfCodesAreAnIntegerProduct) {
  for (uint64_t seed = 2000; seed < 2150; ++seed) {
    const Drawn drawn = Maker(seed, false, true).make();
    check(drawn, 2e-4);
    const Graph lowered = lower(drawn.graph).value().graph;
    int products = 0, layers = 0;
    for (const NodeId id : lowered.nodes()) {
      const Node& node = lowered.node(id);
      products += node.is("QGemm", kNative) || node.is("QMatMul", kNative) ? 1 : 0;
      const bool of_sums = node.domain == kNative && node.inputs.size() > 2 &&
                           !node.input(1).valid() && node.has_attr("hidden_size");
      layers += of_sums ? 1 : 0;
    }
    EXPECT_EQ(products, 1) << drawn.text;
    EXPECT_EQ(layers, 1) << drawn.text;
  }
}

// A code of a state beside a tie moves a sum by one step.
TEST(Recurrent, DynamicQuantizationRunsOnCodes) {
  for (uint64_t seed = 0; seed < 120; ++seed)
    check(DynamicMaker(seed).make(false), 0.05);
  for (uint64_t seed = 500; seed < 530; ++seed)
    check(DynamicMaker(seed).make(true), 0);
}

/// x [t, 2, 4] through an LSTM of 3 units with the input `lengths`.
Graph with_lengths(bool constant_weights, const std::string& activation) {
  Source s{Philox(3)};
  Graph g;
  g.opsets[""] = 17;
  Node node;
  node.op_type = "LSTM";
  node.name = "layer";
  const ValueId x = g.add_input("x", tensor(DType::kFloat32, {5, 2, 4}));
  const ValueId w = constant_weights ? g.add_constant("w", s.floats({1, 12, 4}, 1))
                                     : g.add_input("w", tensor(DType::kFloat32, {1, 12, 4}));
  node.inputs = {x, w, g.add_constant("r", s.floats({1, 12, 3}, 1)), ValueId{},
                 g.add_input("lengths", tensor(DType::kInt32, {2}))};
  node.attributes["activations"].value = std::vector<std::string>{"Sigmoid", "Tanh", activation};
  node.outputs = {g.add_value("y")};
  g.mark_output(node.outputs[0]);
  g.add_node(node);
  return g;
}

TEST(Recurrent, LengthsOutsideTheSequenceAreErrors) {
  auto session = Session::create(with_lengths(true, "Tanh"), {.lower = true}).value();
  const Tensor x = Tensor::zeros(DType::kFloat32, {5, 2, 4}).value();
  for (const int32_t bad : {-1, 6, std::numeric_limits<int32_t>::max()}) {
    const auto y = session.run(std::vector<Tensor>{x, Tensor::of<int32_t>({2}, {5, bad})});
    ASSERT_FALSE(y.ok());
    EXPECT_NE(y.error().text().find(std::to_string(bad) + "; X has 5 steps"), std::string::npos)
        << y.error().text();
  }
  EXPECT_TRUE(session.run(std::vector<Tensor>{x, Tensor::of<int32_t>({2}, {5, 0})}).ok());
}

TEST(Recurrent, ThePlanSaysWhatKeepsALayerFromTheKernel) {
  const auto why = [](const Graph& g) {
    const auto session = Session::create(g, {.lower = true}).value();
    EXPECT_EQ(session.plan().at(0).kernel, "reference");
    return session.plan().at(0).why;
  };
  EXPECT_NE(why(with_lengths(false, "Tanh")).find("W is not constant"), std::string::npos);
  EXPECT_NE(why(with_lengths(true, "Softsign")).find("softsign has no native form"),
            std::string::npos);
}

} // namespace
} // namespace octet
