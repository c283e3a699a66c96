// SPDX-License-Identifier: Apache-2.0
// A quantization plan as JSON: refused with an error, or read, written and read to the same text.
// What is read is applied to a small network: an error, or a graph that holds together.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "graph/verify.h"
#include "quant/plan.h"
#include "replay/seeds.h"
#include "targets/tables.h"

#include "octet/graph_text.h"
#include "octet/quantize.h"

namespace octet::fuzz {
namespace {

const Graph& network() {
  static const Graph graph =
      parse_graph("graph g opset(\"\"=17)\n"
                  "input x: f32[2, 1, 4, 4]\n"
                  "const w: f32[2, 1, 3, 3] = [1, 2, 3, 4, 5, 6, 7, 8, 9, -1, -2, -3, -4, -5, -6, "
                  "-7, -8, -9]\n"
                  "const b: f32[2] = [0.5, -0.5]\n"
                  "const v: f32[8, 2] = [1, 2, 3, 4, 5, 6, 7, 8, 8, 7, 6, 5, 4, 3, 2, 1]\n"
                  "c = Conv(x, w, b) \"conv\"\n"
                  "r = Relu(c) \"relu\"\n"
                  "f = Flatten(r) \"flatten\"\n"
                  "y = MatMul(f, v) \"product\"\n"
                  "output y: f32[2, 2]\n")
          .value();
  return graph;
}

CalibrationSource one_batch() {
  auto used = std::make_shared<bool>(false);
  return [used]() -> Result<std::optional<std::vector<Tensor>>> {
    if (*used) return std::optional<std::vector<Tensor>>();
    *used = true;
    std::vector<float> x(32);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<float>(i) / 8 - 2;
    return std::optional(
        std::vector<Tensor>{Tensor::of<float>({2, 1, 4, 4}, std::span<const float>(x))});
  };
}

std::string plan_text(const QuantizeOptions& options) {
  return plan_quantization(network(), one_batch(), options).value().to_json();
}

std::string text_with_steps() {
  const QuantizeOptions options = {.steps = {"smooth", "correct-bias"}};
  const auto placement = find_placement(options.target).value();
  const OpenCalibration open = []() -> Result<CalibrationSource> { return one_batch(); };
  return make_plan(network(), *placement, open, options, 0).value().to_json();
}

} // namespace

std::vector<std::string> seeds() {
  return {
      plan_text({.target = "tensorrt-10"}),
      plan_text({.target = "onnxruntime"}),
      plan_text({.target = "octet", .mode = QuantMode::kDynamic}),
      plan_text({.target = "octet", .mode = QuantMode::kWeightOnly}),
      plan_text(
          {.mode = QuantMode::kWeightOnly, .weights = parse_number_format("int4/16").value()}),
      plan_text({.mode = QuantMode::kWeightOnly, .weights = parse_number_format("nvfp4").value()}),
      plan_text({.weights = parse_number_format("fp8-e5m2").value(),
                 .activations = parse_number_format("fp8-e4m3fn").value()}),
      text_with_steps()};
}

} // namespace octet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto plan = octet::QuantizationPlan::from_json(text);
  if (!plan.ok()) return 0;
  const std::string written = plan->to_json();
  const auto again = octet::QuantizationPlan::from_json(written);
  if (!again.ok() || again->to_json() != written) std::abort();
  if (!octet::compare_plan(octet::fuzz::network(), *plan).ok()) return 0;
  const auto applied = octet::quantize(octet::fuzz::network(), *plan);
  if (applied.ok() && !octet::verify(*applied).ok()) std::abort();
  return 0;
}
