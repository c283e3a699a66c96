// SPDX-License-Identifier: Apache-2.0
// The list of repairs for each family of targets, and the public entry.
#include "octet/repair.h"

#include "core/format.h"
#include "ops/infer.h"
#include "passes/standardize/raise_opset.h"
#include "targets/checks.h"
#include "targets/repair/rules.h"

namespace octet {

namespace {

constexpr RepairRule kTypeRepairs[] = {
    {"fold_parameter", fold_parameter},
    {"convert_scale", convert_scale},
};

constexpr RepairRule kTensorRtForms[] = {
    {"fold_parameter", fold_parameter},
    {"convert_scale", convert_scale},
    {"standard_domain", standard_domain},
    {"standard_operators", standard_operators},
    {"add_zero_point", add_zero_point},
    {"match_zero_point", match_zero_point},
    {"drop_output_type", drop_output_type},
    {"set_axis", set_axis},
    {"fold_bias", fold_bias},
    {"fold_codes", fold_codes},
    {"drop_cast", drop_cast},
    {"clip_codes", clip_codes},
    {"move_codes", move_codes},
    {"merge_quantize", merge_quantize},
    {"decompose_input", decompose_input},
    {"qlinear_conv", qlinear_conv},
    {"qlinear_matmul", qlinear_matmul},
    {"qgemm", qgemm},
    {"qlinear_pointwise", qlinear_pointwise},
    {"qlinear_pool", qlinear_pool},
    {"matmul_integer_to_float", matmul_integer_to_float},
    {"integer_product", integer_product},
    {"scale_query", scale_query},
};

// fold_row comes behind the shifts, which take a constant's codes and not its rounded values.
constexpr RepairRule kTensorRtNumbers[] = {
    {"replace_scale", replace_scale},
    {"shift_activation", shift_activation},
    {"shift_table", shift_table},
    {"fold_row", fold_row},
    {"symmetric_activation", symmetric_activation},
    {"symmetric_weight", symmetric_weight},
    {"store_weight", store_weight},
    {"float_weight", float_weight},
    {"dynamic_quantize", dynamic_quantize},
    {"unify_concat", unify_concat},
    {"unify_quantize", unify_quantize},
    {"unblock_weight", unblock_weight},
    {"dynamic_quantize_matmul", dynamic_quantize_matmul},
    {"float_attention", float_attention},
    {"place_attention", place_attention},
};

constexpr RepairRule kOnnxRuntimeForms[] = {
    {"dynamic_gemm", dynamic_gemm},
    {"standard_operators", standard_operators},
    {"convert_scale", convert_scale},
    {"add_zero_point", add_zero_point},
    {"match_zero_point", match_zero_point},
    {"single_zero_point", single_zero_point},
    {"scalar_parameter", scalar_parameter},
    {"drop_output_type", drop_kept_output_type},
    {"decompose_qoperator", qoperator_without_kernel},
    {"fold_bias", fold_misread_bias},
    {"unsign_moved", unsign_moved},
    {"widen_concat", widen_concat},
    {"split_quantize", split_quantize},
    {"separate_constants", separate_constants},
    {"float_product", float_product},
    {"float_input", float_input},
};

constexpr RepairRule kOnnxRuntimeNumbers[] = {
    {"replace_scale", replace_scale},
};

} // namespace

std::span<const RepairRule> type_repairs() {
  return kTypeRepairs;
}

std::span<const RepairRule> form_repairs(TargetFamily family) {
  switch (family) {
  case TargetFamily::kTensorRt:
    return kTensorRtForms;
  case TargetFamily::kOnnxRuntime:
    return kOnnxRuntimeForms;
  case TargetFamily::kOctet:
    break;
  }
  return {};
}

std::span<const RepairRule> number_repairs(TargetFamily family) {
  switch (family) {
  case TargetFamily::kTensorRt:
    return kTensorRtNumbers;
  case TargetFamily::kOnnxRuntime:
    return kOnnxRuntimeNumbers;
  case TargetFamily::kOctet:
    break;
  }
  return {};
}

Result<Repaired> repair(const Graph& graph, std::string_view target, const RepairOptions& options) {
  const auto def = OCTET_TRY_WITH(find_target(target), "repair");
  Repaired out;
  out.graph = graph;
  RepairDriver driver(out.graph, *def, options);
  if (!infer_types(out.graph).ok()) {
    out.graph = graph;
    if (def->family != TargetFamily::kOctet) OCTET_TRY(driver.run(type_repairs()));
    OCTET_TRY_WITH(infer_types(out.graph), "repair");
  }
  // Repairs write operators of this set: Round came with 11, axes of Q and DQ with 13. A graph that
  // cannot be taken there keeps its own.
  const bool raised = out.graph.opset() < kOldestOpset && raise_opset(out.graph, kOldestOpset).ok();
  OCTET_TRY(driver.run(form_repairs(def->family)));
  Graph came = graph;
  if (options.data) {
    OCTET_TRY_WITH(check_runs(graph, out.graph, ""), "repair");
    came = OCTET_TRY_WITH(as_it_runs(graph, *def), "repair");
    driver.set_ranges(OCTET_TRY_WITH(observe_ranges(out.graph, options), "repair"));
  }
  for (size_t before = 0, first = 1; first == 1 || driver.changes().size() > before; first = 0) {
    before = driver.changes().size();
    OCTET_TRY(driver.run(number_repairs(def->family)));
    OCTET_TRY(driver.run(form_repairs(def->family)));
  }
  out.changes = driver.changes();
  if (raised && !out.changes.empty())
    out.changes.push_back({.rule = "raise_opset",
                           .node = graph.name,
                           .why = fmt::format("operator set {} becomes {}, which has the repairs' "
                                              "operators",
                                              graph.opset(), kOldestOpset),
                           .exact = true});
  const std::string too_new = lower_versions(target, out);
  if (out.changes.empty()) out.graph = graph; // with what reaches no output
  if (options.data && !out.changes.empty())
    OCTET_TRY_WITH(measure(came, options, driver, out), "repair: measuring");
  OCTET_TRY_WITH(half_precision(came, options, out), "repair: 16 bits");
  out.left = OCTET_TRY(check(out.graph, target));
  refuse_overflow(options, out);
  explain_what_bodies_leave(out.graph, out.left);
  explain_what_stays_too_new(too_new, out.left);
  return out;
}

} // namespace octet
