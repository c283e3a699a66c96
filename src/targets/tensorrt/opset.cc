// SPDX-License-Identifier: Apache-2.0
#include "core/format.h"
#include "targets/tensorrt/rules.h"

namespace octet::tensorrt {

namespace {

void find_opset(const CheckContext& context, Found& found) {
  const int64_t have = context.graph.opset(), bound = context.target.placement->max_opset;
  if (have > bound)
    found.add(context.graph.name,
              fmt::format("operator set {} is above the documented {}; the parser does not "
                          "enforce it",
                          have, bound),
              fmt::format("leave it, or write it for operator set {}: octet export --opset {}",
                          bound, bound));
}

} // namespace

constexpr TargetRule kOpset = {
    .id = "opset", .clause = "1.2, 7", .severity = Severity::kWarning, .find = find_opset};

} // namespace octet::tensorrt
