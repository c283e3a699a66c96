// SPDX-License-Identifier: Apache-2.0
// Operator sets and file formats that came after a release.
#include "core/format.h"
#include "passes/standardize/raise_opset.h"
#include "targets/onnxruntime/releases.h"
#include "targets/onnxruntime/rules.h"

namespace octet::onnxruntime {

namespace {

void find_opset(const CheckContext& context, Found& found) {
  const int64_t have = context.graph.opset(), bound = release_of(context.target).opset;
  if (have <= bound) return;
  found.add(context.graph.name,
            fmt::format("\"Opset {} is under development and support for this is limited. [...] "
                        "Current official support for domain ai.onnx is till opset {}.\"",
                        have, bound),
            fmt::format("write it for operator set {}: {}", bound,
                        have <= kNewestOpset ? "octet repair does"
                                             : "octet cannot, so do it where the file is made"));
}

void find_ir_version(const CheckContext& context, Found& found) {
  const int64_t have = context.graph.info.ir_version, bound = release_of(context.target).ir_version;
  if (have > bound)
    found.add(context.graph.name,
              fmt::format("\"Unsupported model IR version: {}, max supported IR version: {}\"",
                          have, bound),
              fmt::format("write it as version {}: octet repair does", bound));
}

} // namespace

constexpr TargetRule kOpset = {
    .id = "opset", .clause = "8, releases", .find = find_opset, .lowered_by = "lower_opset"};
constexpr TargetRule kIrVersion = {.id = "ir-version",
                                   .clause = "8, releases",
                                   .find = find_ir_version,
                                   .lowered_by = "lower_ir_version"};

} // namespace octet::onnxruntime
