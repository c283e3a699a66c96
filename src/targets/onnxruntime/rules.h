// SPDX-License-Identifier: Apache-2.0
// What ONNX Runtime refuses, or reads as something else. Messages quote it. Source: docs/targets.md
// 4.2 and 8 (measured).
#pragma once

#include "targets/rule.h"

namespace octet::onnxruntime {

#define RULE(rule) extern const TargetRule rule;
#include "targets/onnxruntime/rules.def"
#undef RULE

} // namespace octet::onnxruntime
