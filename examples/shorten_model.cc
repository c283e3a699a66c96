// SPDX-License-Identifier: Apache-2.0
// A model as a training framework exports it, made ready to deploy: its local functions inlined, an
// input that is always the same number taken out, said shorter, and measured on batches of a data
// set against what it was.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "octet/executor.h"
#include "octet/graph_text.h"
#include "octet/passes.h"
#include "octet/quantize.h"
#include "octet/session.h"

namespace {

constexpr const char* kExported = R"(graph classifier opset(""=17)
input image: f32[N, 1, 28, 28]
input gain: f32[N, 1, 28, 28]
const w: f32[2, 1, 3, 3] = [1, 0, -1, 2, 0, -2, 1, 0, -1, 1, 2, 1, 0, 0, 0, -1, -2, -1]
const bias: f32[2, 1, 1] = [0.5, -0.5]
scaled = Mul(image, gain)
convolved = Conv(scaled, w)
shifted = Add(convolved, bias)
same = Identity(shifted)
edges = Relu(same)
output edges: f32[N, 2, 26, 26]
)";

octet::Result<double> largest_difference() {
  const octet::Graph exported = OCTET_TRY(octet::parse_graph(kExported));
  octet::Graph model = exported;
  std::printf("%d calls inlined\n", OCTET_TRY(octet::inline_functions(model)));
  std::printf("%s\n", OCTET_TRY(octet::drop_input(model, "gain", 1)).c_str());
  const octet::SimplifyOptions options = {.neutral_parameters =
                                              octet::NeutralParameters::kEliminate};
  for (const octet::Step& step : OCTET_TRY(octet::simplify(model, options)))
    std::printf("#%d %s %s: %s\n", step.number, step.rule.c_str(), step.node.c_str(),
                step.why.c_str());
  std::printf("%s", octet::print(model).c_str());

  const auto data = OCTET_TRY(octet::open_dataset("generated", octet::Split::kTest));
  const octet::CalibrationSource batches = octet::batches_of(model, *data, 64, 16);
  const auto reference = OCTET_TRY(octet::make_reference_executor(exported));
  octet::Session session = OCTET_TRY(octet::Session::create(model));
  double worst = 0;
  while (const auto batch = OCTET_TRY(batches())) {
    const octet::Tensor& image = batch->front();
    const std::vector<double> ones(static_cast<size_t>(image.count()), 1);
    const octet::Tensor gain =
        OCTET_TRY(octet::Tensor::from_doubles(octet::DType::kFloat32, image.shape(), ones));
    const octet::Tensor before = OCTET_TRY(reference->run(std::vector{image, gain})).front();
    const octet::Tensor after = OCTET_TRY(session.run(*batch)).front();
    for (int64_t i = 0; i < before.count(); ++i)
      worst = std::max(worst, std::abs(before.at(i) - after.at(i)));
  }
  if (model.nodes().size() != 2) return octet::Error("two nodes were expected: Conv and Relu");
  return worst;
}

} // namespace

int main() {
  const octet::Result<double> difference = largest_difference();
  if (!difference.ok()) {
    std::fprintf(stderr, "%s\n", difference.error().text().c_str());
    return 1;
  }
  std::printf("largest difference on 64 images: %g\n", *difference);
  return *difference < 1e-4 ? 0 : 1;
}
