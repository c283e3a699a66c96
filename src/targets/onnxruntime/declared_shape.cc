// SPDX-License-Identifier: Apache-2.0
#include "targets/onnxruntime/rules.h"
#include "targets/shared_rules.h"

namespace octet::onnxruntime {

constexpr TargetRule kDeclaredShape = {.id = "declared-shape",
                                       .clause = "8",
                                       .severity = Severity::kWarning,
                                       .find = find_declared_shape};

} // namespace octet::onnxruntime
