// SPDX-License-Identifier: Apache-2.0
// Gradients of LSTM, GRU and RNN back through time: directions, lengths, layouts, states given and
// handed on, peepholes, clips and every activation.
#include "gradients.h"

namespace octet {
namespace {

using Problem = test::GradientProblem;

class RecurrentGradient : public testing::TestWithParam<Problem> {};

TEST_P(RecurrentGradient, EqualsCentralDifferencesOfTheReference) {
  test::expect_gradients_of_reference(GetParam());
}

/// A layer and all that comes out of it in one row. What is not in `inputs` ("b h c p": bias, both
/// initial states, peepholes) is left out.
Problem layer(const std::string& name,
              const std::string& op,
              const std::string& attributes,
              const std::string& inputs,
              const std::string& lengths = "") {
  const int64_t gates = op == "LSTM" ? 4 : op == "GRU" ? 3 : 1;
  const int64_t directions = attributes.find("bidirectional") == std::string::npos ? 1 : 2;
  const bool batch_first = attributes.find("layout=1") != std::string::npos;
  const Shape state = batch_first ? Shape{2, directions, 2} : Shape{directions, 2, 2};
  Problem p{name, "", {}, -0.8, 0.8, 14};
  p.inputs = {{"x", batch_first ? Shape{2, 3, 2} : Shape{3, 2, 2}},
              {"w", {directions, gates * 2, 2}},
              {"r", {directions, gates * 2, 2}}};
  const auto optional = [&](const char* input, const Shape& shape) -> std::string {
    if (inputs.find(input) == std::string::npos) return ", _";
    p.inputs.emplace_back(input, shape);
    return std::string(", ") + input;
  };
  std::string call = "x, w, r" + optional("b", {directions, gates * 4});
  call += lengths.empty() ? ", _" : ", n";
  call += optional("h", state);
  if (op == "LSTM") call += optional("c", state) + optional("p", {directions, 6});
  if (!lengths.empty()) p.body = "const n: i32[2] = " + lengths + "\n";
  p.body += "const row: i64[1] = [-1]\nall, last" + std::string(op == "LSTM" ? ", cell" : "") +
            " = " + op + "(" + call + ") {hidden_size=2" +
            (attributes.empty() ? "" : ", " + attributes) + "}\n" +
            "all_row = Reshape(all, row)\nlast_row = Reshape(last, row)\n";
  if (op == "LSTM")
    p.body += "cell_row = Reshape(cell, row)\ny = Concat(all_row, last_row, cell_row) {axis=0}";
  else
    p.body += "y = Concat(all_row, last_row) {axis=0}";
  return p;
}

std::vector<Problem> layers() {
  std::vector<Problem> out;
  const std::string both = "direction=\"bidirectional\"", back = "direction=\"reverse\"";
  for (const std::string op : {"LSTM", "GRU", "RNN"}) {
    out.push_back(layer(op + "Bare", op, "", ""));
    out.push_back(layer(op + "Whole", op, "", "bhcp"));
    out.push_back(layer(op + "Reverse", op, back, "bhcp"));
    out.push_back(layer(op + "BothWays", op, both, "bhcp"));
    out.push_back(layer(op + "Lengths", op, both, "bhcp", "[1, 3]"));
    out.push_back(layer(op + "LengthOfNothing", op, back, "bhcp", "[2, 0]"));
    out.push_back(layer(op + "BatchFirst", op, both + ", layout=1", "bhcp", "[3, 2]"));
    out.push_back(layer(op + "Clip", op, "clip=0.3", "bhcp"));
  }
  out.push_back(layer("LstmInputForget", "LSTM", "input_forget=1", "bhcp"));
  out.push_back(layer("GruLinearBeforeReset", "GRU", "linear_before_reset=1, " + both, "bh"));
  out.push_back(layer("GruLinearBeforeResetBare", "GRU", "linear_before_reset=1", ""));
  for (const std::string f : {"Relu", "Tanh", "Sigmoid", "Softsign", "Softplus", "Affine",
                              "LeakyRelu", "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu"})
    out.push_back(
        layer("RnnOf" + f, "RNN",
              "activations=[\"" + f + "\"], activation_alpha=[0.4], activation_beta=[0.3]", "bh"));
  return out;
}

INSTANTIATE_TEST_SUITE_P(Recurrent, RecurrentGradient, testing::ValuesIn(layers()), test::name_of);

} // namespace
} // namespace octet
