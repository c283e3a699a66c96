// SPDX-License-Identifier: Apache-2.0
// Index tensors that count: what exporters build from Range, Unsqueeze, Mul, Add and Expand to pick
// elements that lie in order already.
#pragma once

#include <map>
#include <optional>

#include "passes/rewrite.h"

namespace octet {

/// A tensor whose element at (i0, i1, ...) is the sum of i_axis * stride over its axes.
struct LinearIndex {
  std::vector<Dim> shape;
  std::map<size_t, Dim> strides; ///< axes that are left out have stride 0
};

/// nullopt where the value is not seen to be one.
std::optional<LinearIndex> linear_index(const RuleContext& context, ValueId id);

} // namespace octet
