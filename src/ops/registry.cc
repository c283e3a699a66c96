// SPDX-License-Identifier: Apache-2.0
// The table of operators, made from ops.def, and the usual answers for facets.
#include <algorithm>
#include <map>
#include <string>

#include "ops/definitions.h"

namespace octet {

namespace {

// A trailing null keeps the array non-empty whatever the list holds.
const OpDef* const kOps[] = {
#define OP(domain, name, file) &domain::op_##name::def,
#include "ops/ops.def"
#undef OP
    nullptr};

using OpKey = std::pair<std::string_view, std::string_view>;

const std::map<OpKey, const OpDef*>& index() {
  static const std::map<OpKey, const OpDef*> table = [] {
    std::map<OpKey, const OpDef*> t;
    for (const OpDef* op : all_ops())
      t.emplace(OpKey{op->domain, op->name}, op);
    return t;
  }();
  return table;
}

} // namespace

std::span<const OpDef* const> all_ops() {
  return {kOps, std::size(kOps) - 1};
}

const OpDef* find_op(std::string_view domain, std::string_view op_type) {
  const auto found = index().find({domain == "ai.onnx" ? "" : domain, op_type});
  return found == index().end() ? nullptr : found->second;
}

const InputInfo& InferContext::input(size_t i) const {
  static const InputInfo omitted;
  return i < inputs.size() ? inputs[i] : omitted;
}

Role all_data(const Node&, size_t) {
  return Role::kData;
}

QuantTrait not_quantizable(const Node& node, std::span<const InputInfo>) {
  return QuantTrait::none("no target runs " + node.op_type + " in integers");
}

QuantTrait moves_data(const Node&, std::span<const InputInfo>) {
  QuantTrait t;
  t.kind = QuantTrait::Kind::kSameScale;
  t.inputs = {0};
  return t;
}

} // namespace octet
