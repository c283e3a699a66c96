// SPDX-License-Identifier: Apache-2.0
// What TensorRT's parser refuses, and what it takes but reads as something else: there the rules
// are stricter than the parser. Messages quote it. Source: docs/targets.md 1.1 (rows), 1.2 to 1.4,
// and 7 (measured), which wins where they differ.
#pragma once

#include "targets/rule.h"

namespace octet::tensorrt {

#define RULE(rule) extern const TargetRule rule;
#define SHARED(rule)
#include "targets/tensorrt/rules.def"
#undef RULE
#undef SHARED

} // namespace octet::tensorrt
