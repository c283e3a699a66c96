// SPDX-License-Identifier: Apache-2.0
// Operators that the parser does not import, or imports as something else.

#include "core/format.h"
#include "ops/op.h"
#include "targets/tensorrt/operators.h"
#include "targets/tensorrt/rules.h"

namespace octet::tensorrt {

namespace {

constexpr const char* kNoPlugin =
    "\"Plugin not found, are the plugin name, version, and namespace correct?\"";

enum class Import {
  kAsItIs,
  kIntegerForm,
  kAsAnother, ///< of ONNX, by its type alone
  kOtherDomain,
  kLater, ///< by a later version
  kNever,
};

/// The parser looks operators up by type alone; these mean the same in both domains.
bool means_the_same(const Node& node) {
  return node.domain.empty() || is_qdq(node) || node.domain == "trt" ||
         node.domain == "trt.plugins" || node.is("Gelu", kMicrosoft);
}

Import import_of(const CheckContext& context, const Node& node) {
  if (node.domain.empty() && facts_of(node).on_codes) return Import::kIntegerForm;
  if (tensorrt_imports(node.op_type, context.target.version))
    return means_the_same(node) ? Import::kAsItIs : Import::kAsAnother;
  if (!node.domain.empty()) return Import::kOtherDomain;
  return tensorrt_operator_since(node.op_type) ? Import::kLater : Import::kNever;
}

std::string not_imported(const CheckContext& context, const Node& node) {
  const auto since = tensorrt_operator_since(node.op_type);
  std::string why =
      fmt::format("\"No importer registered for op: {}. Attempting to import as plugin.\", then {}",
                  node.op_type, kNoPlugin);
  if (since && *since > context.target.version)
    why += fmt::format("; {} came with TensorRT {}.{}", node.op_type, *since / 100, *since % 100);
  return why;
}

void find_integer_operator(const CheckContext& context, const Node& node, Found& found) {
  if (import_of(context, node) == Import::kIntegerForm)
    found.add(node,
              context.at_least(1000)
                  ? fmt::format("\"Assertion failed: false\" from check{}", node.op_type)
                  : kNoPlugin,
              node.op_type == "DynamicQuantizeLinear"
                  ? "give it a fixed range: octet repair --data takes it from data"
                  : "write it as Q/DQ around the float operator");
}

void find_ignored_domain(const CheckContext& context, const Node& node, Found& found) {
  if (import_of(context, node) == Import::kAsAnother)
    found.add(node,
              fmt::format("the parser ignores the domain \"{}\" and imports the {} of ONNX",
                          node.domain, node.op_type),
              "use standard operators");
}

void find_unknown_domain(const CheckContext& context, const Node& node, Found& found) {
  if (import_of(context, node) == Import::kOtherDomain)
    found.add(node, not_imported(context, node),
              fmt::format("the domain \"{}\" is not ONNX; use standard operators", node.domain));
}

constexpr const char* kElementary = "write it with elementary operators";

void find_operator_too_new(const CheckContext& context, const Node& node, Found& found) {
  if (import_of(context, node) == Import::kLater)
    found.add(node, not_imported(context, node), kElementary);
}

void find_unknown_operator(const CheckContext& context, const Node& node, Found& found) {
  if (import_of(context, node) == Import::kNever)
    found.add(node, not_imported(context, node), kElementary);
}

} // namespace

constexpr TargetRule kIntegerOperator = {.id = "integer-operator",
                                         .clause = "1.3, 7",
                                         .find = find_integer_operator,
                                         .mends = {Mend::kQLinearConv, Mend::kQLinearMatMul,
                                                   Mend::kIntegerProduct, Mend::kDynamicQuantize}};
constexpr TargetRule kIgnoredDomain = {
    .id = "unknown-domain", .clause = "7", .find = find_ignored_domain};
constexpr TargetRule kUnknownDomain = {
    .id = "unknown-domain",
    .clause = "1.3, 7",
    .find = find_unknown_domain,
    .mends = {Mend::kStandardOperators, Mend::kQGemm, Mend::kQLinearPointwise, Mend::kQLinearPool,
              Mend::kMatMulIntegerToFloat, Mend::kDynamicQuantizeMatMul, Mend::kUnknownOperators}};
constexpr TargetRule kOperatorTooNew = {
    .id = "operator-too-new", .clause = "1.3, 7", .find = find_operator_too_new};
constexpr TargetRule kUnknownOperator = {
    .id = "unknown-operator", .clause = "1.3, 7", .find = find_unknown_operator};

} // namespace octet::tensorrt
