// SPDX-License-Identifier: Apache-2.0
#include "core/format.h"
#include "targets/onnxruntime/rules.h"

namespace octet::onnxruntime {

namespace {

void find_unknown_domain(const CheckContext&, const Node& node, Found& found) {
  if (node.domain.empty() || node.domain == kMicrosoft || node.domain == kMl) return;
  found.add(node, fmt::format("ONNX Runtime has no operators of the domain \"{}\"", node.domain),
            "use standard operators (for octet's own form: the ONNX form of dynamic "
            "quantization)");
}

} // namespace

constexpr TargetRule kUnknownDomain = {.id = "unknown-domain",
                                       .clause = "1.3",
                                       .find = find_unknown_domain,
                                       .mends = {Mend::kDynamicGemm, Mend::kUnknownOperators}};

} // namespace octet::onnxruntime
