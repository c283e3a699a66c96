// SPDX-License-Identifier: Apache-2.0
// What a target in TOML says of its own: operators, the operator set, and which codes it takes.
#include <algorithm>

#include "core/format.h"
#include "targets/custom/target.h"
#include "targets/rule.h"

namespace octet::custom {

namespace {

bool lists(const std::vector<std::string>& names, const Node& node) {
  const std::string name = node.domain.empty() ? node.op_type : node.domain + "." + node.op_type;
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Codes of constants: stored, or made by a Q of a float constant.
bool is_weight(const Graph& graph, const Node& node) {
  if (graph.constant(node.input(0)) != nullptr) return true;
  const Node* before = graph.producer(node.input(0));
  return is_dequantize(node) && before != nullptr && is_quantize(*before) &&
         graph.constant(before->input(0)) != nullptr;
}

/// Zero, or for uint8 the middle.
bool is_symmetric(const Graph& graph, const Node& node) {
  const qdq::Written said = qdq::written(graph, node);
  const double middle = said.codes_type == DType::kUint8 ? 128 : 0;
  if (!said.zero.valid()) return middle == 0;
  if (said.zeros == nullptr) return false;
  for (int64_t i = 0; i < said.zeros->count(); ++i)
    if (said.zeros->at(i) != middle) return false;
  return true;
}

std::string fix_of_codes(const CheckContext& context) {
  return fmt::format("quantize the float model for it: octet quantize --target {}",
                     context.target.custom->path);
}

/// Of Q and DQ of 8 bits: what the file asks of their codes; null: nothing is asked of the node.
const CodeRules* asked(const CheckContext& context, const Node& node, bool of_weight) {
  if (!is_byte(qdq::written(context.graph, node).codes_type)) return nullptr;
  return is_weight(context.graph, node) == of_weight ? &context.target.custom->codes : nullptr;
}

/// Of stored codes: what the file asks of them.
const CodeRules* asked_of_stored(const CheckContext& context, const Node& node) {
  const bool stored = is_dequantize(node) && context.graph.constant(node.input(0)) != nullptr;
  return stored ? asked(context, node, true) : nullptr;
}

void find_opset(const CheckContext& context, Found& found) {
  const CustomTarget& custom = *context.target.custom;
  const int64_t have = context.graph.opset(), bound = custom.placement.max_opset;
  if (have > bound)
    found.add(context.graph.name,
              fmt::format("operator set {} is above {}, the highest that {} takes", have, bound,
                          custom.name),
              fmt::format("write it for operator set {}: octet repair does", bound));
}

void find_operator(const CheckContext& context, const Node& node, Found& found) {
  const CustomTarget& custom = *context.target.custom;
  const bool allowed = custom.allowed.empty() || lists(custom.allowed, node);
  if (!allowed || lists(custom.refused, node))
    found.add(node, fmt::format("{} does not take {}", custom.name, node.op_type),
              "write it with operators that it takes");
}

void find_activation_type(const CheckContext& context, const Node& node, Found& found) {
  const CodeRules* rules = asked(context, node, false);
  const DType type = qdq::written(context.graph, node).codes_type;
  if (rules != nullptr && rules->activation && type != *rules->activation)
    found.add(node,
              fmt::format("{} takes {} activations, not {}", context.target.custom->name,
                          octet::name(*rules->activation), octet::name(type)),
              fix_of_codes(context));
}

void find_zero_point_not_zero(const CheckContext& context, const Node& node, Found& found) {
  const CodeRules* rules = asked(context, node, false);
  if (rules != nullptr && rules->symmetric_activations && !is_symmetric(context.graph, node))
    found.add(node,
              fmt::format("{} takes symmetric activations: the zero point is not in the middle",
                          context.target.custom->name),
              fix_of_codes(context));
}

void find_weight_zero_point(const CheckContext& context, const Node& node, Found& found) {
  const CodeRules* rules = asked(context, node, true);
  if (rules != nullptr && rules->symmetric_weights && !is_symmetric(context.graph, node))
    found.add(node,
              fmt::format("{} takes symmetric weights: a zero point is not in the middle",
                          context.target.custom->name),
              fix_of_codes(context));
}

void find_stored_weight(const CheckContext& context, const Node& node, Found& found) {
  const CodeRules* rules = asked_of_stored(context, node);
  if (rules != nullptr && rules->float_weights)
    found.add(node,
              fmt::format("{} takes float weights with Q and DQ, not stored codes",
                          context.target.custom->name),
              fix_of_codes(context));
}

void find_weight_range(const CheckContext& context, const Node& node, Found& found) {
  const CodeRules* rules = asked_of_stored(context, node);
  if (rules == nullptr || !rules->narrow_weights) return;
  const Tensor& codes = *context.graph.constant(node.input(0));
  const auto bytes = codes.bytes();
  if (codes.type() == DType::kInt8 &&
      std::find(bytes.begin(), bytes.end(), std::byte{0x80}) != bytes.end())
    found.add(node,
              fmt::format("{} takes weights of codes -127 .. 127; one is -128",
                          context.target.custom->name),
              fix_of_codes(context));
}

constexpr TargetRule kOpset = {.id = "opset", .find = find_opset, .lowered_by = "lower_opset"};
constexpr TargetRule kOperator = {.id = "operator", .find = find_operator};
constexpr TargetRule kActivationType = {.id = "activation-type", .find = find_activation_type};
constexpr TargetRule kZeroPointNotZero = {.id = "zero-point-not-zero",
                                          .find = find_zero_point_not_zero};
constexpr TargetRule kWeightZeroPoint = {.id = "weight-zero-point", .find = find_weight_zero_point};
constexpr TargetRule kStoredWeight = {.id = "stored-weight", .find = find_stored_weight};
constexpr TargetRule kWeightRange = {.id = "weight-range", .find = find_weight_range};

constexpr const TargetRule* kRuleList[] = {
    &kOpset,           &kOperator,     &kActivationType, &kZeroPointNotZero,
    &kWeightZeroPoint, &kStoredWeight, &kWeightRange};

} // namespace

} // namespace octet::custom

octet::RuleList octet::custom_rules() {
  return custom::kRuleList;
}
