// SPDX-License-Identifier: Apache-2.0
// Types that a file declares for intermediates and outputs, and that are not what its operators
// compute. Source: docs/targets.md 8 (measured).
#include "core/format.h"
#include "targets/shared_rules.h"

namespace octet {
namespace {

bool of_other_type(const Disagreement& one) {
  return one.declared.type != one.computed.type && one.declared.type != DType::kUndefined &&
         one.computed.type != DType::kUndefined;
}

void find(const CheckContext& context, bool types, Found& found) {
  for (const Disagreement& one : context.declared)
    if (of_other_type(one) == types)
      found.add(one.value,
                fmt::format("it is declared {} but computes {}", one.declared.text(),
                            one.computed.text()),
                "write the file again with what is computed: octet simplify");
}

} // namespace

void find_declared_type(const CheckContext& context, Found& found) {
  find(context, true, found);
}

void find_declared_shape(const CheckContext& context, Found& found) {
  find(context, false, found);
}

} // namespace octet
