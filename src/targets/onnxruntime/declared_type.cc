// SPDX-License-Identifier: Apache-2.0
#include "targets/onnxruntime/rules.h"
#include "targets/shared_rules.h"

namespace octet::onnxruntime {

constexpr TargetRule kDeclaredType = {
    .id = "declared-type", .clause = "8", .find = find_declared_type};

} // namespace octet::onnxruntime
