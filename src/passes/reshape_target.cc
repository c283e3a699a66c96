// SPDX-License-Identifier: Apache-2.0
#include "passes/reshape_target.h"

namespace octet {

std::optional<std::vector<int64_t>> reshape_target(const TypeInfo& x,
                                                   const std::vector<Dim>& wanted) {
  std::vector<int64_t> out;
  bool open = false;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Dim& d = wanted[i];
    if (d.is_constant()) {
      if (d.value() <= 0) return std::nullopt;
      out.push_back(d.value());
    } else if (x.shape && i < x.shape->size() && (*x.shape)[i] == d) {
      out.push_back(0);
    } else if (!open) {
      out.push_back(-1);
      open = true;
    } else {
      return std::nullopt;
    }
  }
  return out;
}

bool only_reshapes(const Node& node) {
  return node.is("Reshape") || node.is("Flatten") || node.is("Squeeze") || node.is("Unsqueeze");
}

} // namespace octet
