// SPDX-License-Identifier: Apache-2.0
// Operators that one of the two providers alone has a kernel for.
#include "core/format.h"
#include "targets/onnxruntime/releases.h"
#include "targets/onnxruntime/rules.h"

namespace octet::onnxruntime {

namespace {

void find_no_cuda_kernel(const CheckContext&, const Node& node, Found& found) {
  if (!has_cuda_kernel(node))
    found.add(node,
              "the CUDA provider has no kernel for it: it runs on the CPU, between two copies",
              "write it with operators that have one");
}

void find_cuda_only(const CheckContext&, const Node& node, Found& found) {
  if (needs_cuda(node))
    found.add(node,
              fmt::format("\"Could not find an implementation for {}(1) node with name '{}'\"",
                          node.op_type, node.name),
              "run it with the CUDA provider, or write it with standard operators: octet repair "
              "does");
}

} // namespace

constexpr TargetRule kNoCudaKernel = {.id = "no-cuda-kernel",
                                      .clause = "4.2",
                                      .provider = Provider::kCuda,
                                      .severity = Severity::kWarning,
                                      .find = find_no_cuda_kernel};
constexpr TargetRule kCudaOnly = {.id = "no-cpu-kernel",
                                  .clause = "4.4",
                                  .provider = Provider::kCpu,
                                  .find = find_cuda_only,
                                  .mends = {Mend::kStandardOperators}};

} // namespace octet::onnxruntime
