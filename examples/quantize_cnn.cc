// SPDX-License-Identifier: Apache-2.0
// The same flow from C++: build a network, plan its quantization on a data set, apply the plan,
// write ONNX, and run it in integers.
#include <cstdio>
#include <numeric>

#include "octet/dataset.h"
#include "octet/models.h"
#include "octet/onnx.h"
#include "octet/quantize.h"
#include "octet/session.h"
#include "octet/target.h"

namespace {

octet::Result<int64_t> quantize_and_run() {
  const octet::Graph model = OCTET_TRY(octet::make_cnn({.seed = 1}));
  const auto data = OCTET_TRY(octet::open_dataset("generated", octet::Split::kTrain));

  octet::QuantizeOptions options;
  options.target = "tensorrt-10";
  options.calibrator = octet::Calibrator(octet::Entropy{});
  options.samples = 64;
  const octet::QuantizationPlan plan = OCTET_TRY(octet::plan_quantization(model, *data, options));
  std::printf("%s", plan.text().c_str());

  const octet::Graph int8 = OCTET_TRY(octet::quantize(model, plan));
  const auto findings = OCTET_TRY(octet::check(int8, options.target));
  if (!octet::accepted(findings)) return octet::Error("refused: " + findings.front().message);
  OCTET_TRY(octet::save_onnx(int8, "cnn.int8.onnx", {.overwrite = true}));

  octet::Session session = OCTET_TRY(octet::Session::create(int8, {.threads = 2}));
  std::vector<int64_t> first(8);
  std::iota(first.begin(), first.end(), 0);
  const octet::Batch batch = OCTET_TRY(data->batch(first));
  const auto inputs = OCTET_TRY(octet::bind_inputs(int8, batch));
  const auto outputs = OCTET_TRY(session.run(inputs));
  return outputs.front().count();
}

} // namespace

int main() {
  const octet::Result<int64_t> scores = quantize_and_run();
  if (!scores.ok()) {
    std::fprintf(stderr, "%s\n", scores.error().text().c_str());
    return 1;
  }
  std::printf("%lld scores\n", static_cast<long long>(*scores));
  return *scores == 80 ? 0 : 1;
}
