// SPDX-License-Identifier: Apache-2.0
// Answers requests (protocol/serve.h) with what the torch executor makes of one model: its outputs,
// beside the reference's and their bounds, and its gradients held against differences.
#include "protocol/serve.h"
#include "train/executor/torch_executor.h"
#include "train_runner/gradients.h"

namespace octet::differential {
namespace {

Result<OutputSets> run_torch(const Request& request, Answers& answers) {
  const auto torch = OCTET_TRY(train::make_torch_executor(request.graph, {.threads = 1}));
  OutputSets outputs = OCTET_TRY(run_sets(
      request.sets, [&](const std::vector<Tensor>& inputs) { return torch->run(inputs); }));
  const auto stream = [&](const std::vector<Tensor>& inputs) -> Result<std::vector<Tensor>> {
    std::vector<Tensor> out(request.graph.outputs().size());
    OCTET_TRY(torch->stream(inputs, [&](size_t k, const Tensor& y) {
      out[k] = y.clone();
      return ok_status();
    }));
    return out;
  };
  const auto streamed = run_sets(request.sets, stream);
  const std::string text =
      streamed.ok() ? differing_bits(*streamed, outputs) : streamed.error().text();
  if (!text.empty()) answers.findings.push_back("stream and run: " + text);
  return outputs;
}

Answers answer_with_torch(const Request& request) {
  Answers answers;
  if (request.bounds) answer_bounds(request.graph, request.sets, answers);
  auto reference = run_reference(request.graph, request.sets);
  if (!reference.ok()) {
    answers.refusals["reference"] = reference.error().text();
    return answers;
  }
  answers.outputs["reference"] = std::move(*reference);
  auto torch = run_torch(request, answers);
  if (!torch.ok()) {
    answers.refusals["torch"] = torch.error().text();
    return answers;
  }
  answers.outputs["torch"] = std::move(*torch);
  answer_gradients(request.graph, request.sets, request.variant, answers);
  return answers;
}

} // namespace
} // namespace octet::differential

int main() {
  octet::differential::serve(octet::differential::answer_with_torch);
  return 0;
}
