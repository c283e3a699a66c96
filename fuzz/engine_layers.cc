// SPDX-License-Identifier: Apache-2.0
// Layers and times of TensorRT engines: refused with an error, or read and held against the
// explanation of a small network, every node of which gets one verdict.
#include "octet/engine_layers.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "replay/seeds.h"

#include "octet/graph_text.h"

namespace octet::fuzz {
namespace {

const std::vector<LayerForm>& predicted() {
  static const std::vector<LayerForm> layers =
      explain(parse_graph("graph g opset(\"\"=17)\n"
                          "input x: f32[1, 2]\n"
                          "const w: f32[2, 2] = [1, 2, 3, 4]\n"
                          "a = MatMul(x, w) \"fc\"\nb = Relu(a) \"relu\"\nc = Softmax(b)\n"
                          "output c: f32[1, 2]\n")
                  .value(),
              "tensorrt-10")
          .value();
  return layers;
}

} // namespace

std::vector<std::string> seeds() {
  return {
      R"json({"Layers": [{"Name": "w + fc + PWN(relu)", "LayerType": "gemm", "TacticName": "t",
          "Inputs": [{"Name": "x", "Dimensions": [1, 2], "Format/Datatype": "Row major Int8 format"}],
          "Outputs": [{"Name": "b", "Datatype": "Half", "Format": "Row major linear"}]}],
          "Bindings": ["x", "c"]})json",
      R"json({"Layers": [{"Name": "__myl_0", "LayerType": "kgen",
          "Metadata": "[ONNX Layer: fc | f (g)]\u001f[ONNX Layer: node_of_c]"},
          {"Name": "{ForeignNode[fc...node_of_c]}", "LayerType": "Myelin"},
          {"Name": "fc [profile 1]"}]})json",
      R"json({"Layers": ["Reformatting CopyNode for Input Tensor 0 to fc", "fc || relu, c"]})json",
      R"json([{"count": 2}, {"name": "fc", "timeMs": 2, "averageMs": 1.5}])json"};
}

void read_and_compare(std::string_view text) {
  if (const auto times = parse_engine_profile(text); times.ok())
    for (const LayerTime& t : *times)
      if (t.layer.empty() || !(t.ms >= 0)) std::abort();
  const auto layers = parse_engine_layers(text);
  if (!layers.ok()) return;
  const auto nodes = compare_engine(predicted(), *layers);
  if (nodes.size() != predicted().size()) std::abort();
  for (const EngineNode& n : nodes)
    if (n.layer >= static_cast<int64_t>(layers->size()) ||
        (n.layer < 0) != (n.verdict == EngineVerdict::kGone))
      std::abort();
  if (predicted_precisions(predicted(), *layers, nodes).size() != layers->size()) std::abort();
}

} // namespace octet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  octet::fuzz::read_and_compare(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
