// SPDX-License-Identifier: Apache-2.0
// The table of operators, made from ops.def, and the usual answers for facets.
#include <algorithm>
#include <functional>
#include <string>
#include <unordered_map>

#include "graph/domains.h"
#include "ops/definitions.h"

namespace octet::onnx {
constexpr std::string_view kDomain = "";
}
namespace octet::ms {
constexpr std::string_view kDomain = kMicrosoft;
}
namespace octet::training {
constexpr std::string_view kDomain = "ai.onnx.preview.training";
}
namespace octet::ml {
constexpr std::string_view kDomain = "ai.onnx.ml";
}
namespace octet::native {
constexpr std::string_view kDomain = kNative;
}

namespace octet {
namespace {

using OpKey = std::pair<std::string_view, std::string_view>;

/// Asked for several times a node at every binding of a plan.
struct OpHash {
  size_t operator()(const OpKey& key) const {
    const std::hash<std::string_view> hash;
    return hash(key.first) * 31 + hash(key.second);
  }
};
using OpIndex = std::unordered_map<OpKey, const OpDef*, OpHash>;

const OpIndex& index() {
  static const OpIndex table = [] {
    OpIndex t;
    for (const OpDef& op : all_ops())
      t.emplace(OpKey{op.domain, op.name}, &op);
    return t;
  }();
  return table;
}

} // namespace

std::span<const OpDef> all_ops() {
  static const OpDef ops[] = {
#define OP(domain, name, file) {octet::domain::op_##name::facets, octet::domain::kDomain, #name},
#include "ops/ops.def"
#undef OP
  };
  return ops;
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

Facts facts_of(const Node& node) {
  const OpDef* op = find_op(node.domain, node.op_type);
  return op == nullptr ? kNoFacts : op->facts.value;
}

Motion motion_of(const Node& node) {
  const OpDef* op = find_op(node.domain, node.op_type);
  return op == nullptr ? Motion{} : op->motion.fn(node);
}

bool moves_values(const Node& node) {
  const Motion motion = motion_of(node);
  switch (motion.kind) {
  case Motion::Kind::kNone:
  case Motion::Kind::kJoin:
  case Motion::Kind::kFill:
  case Motion::Kind::kCast:
    return false;
  case Motion::Kind::kView:
  case Motion::Kind::kPermute:
  case Motion::Kind::kSelect:
  case Motion::Kind::kOrder:
    break;
  }
  if (motion.inputs != 1 || !node.output(0).valid()) return false;
  return std::none_of(node.outputs.begin() + 1, node.outputs.end(),
                      [](ValueId id) { return id.valid(); });
}

QuantTrait moves_data(const Node&, std::span<const InputInfo>) {
  QuantTrait t;
  t.kind = QuantTrait::Kind::kSameScale;
  t.inputs = {0};
  return t;
}

Motion nothing_moves(const Node&) {
  return {};
}

Motion joins_all(const Node&) {
  return {.kind = Motion::Kind::kJoin, .inputs = Motion::kAll};
}

Motion orders_all(const Node&) {
  return {.kind = Motion::Kind::kOrder, .inputs = Motion::kAll};
}

Range unbounded(const RangeContext&) {
  return kEverything;
}

Range of_sources(const RangeContext& context) {
  const Motion motion = motion_of(context.node);
  Range out{kEverything.hi, kEverything.lo};
  for (size_t i = 0; i < context.node.inputs.size(); ++i) {
    if (!motion.takes(i) || !context.node.inputs[i].valid()) continue;
    const Range in = context.in(i);
    out = {std::min(out.lo, in.lo), std::max(out.hi, in.hi)};
  }
  return out.lo <= out.hi ? out : kEverything;
}

Range not_negative(const RangeContext&) {
  return {0, kEverything.hi};
}

} // namespace octet
