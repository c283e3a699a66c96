// SPDX-License-Identifier: Apache-2.0
// The list of repairs for each family of targets, and the public entry.
#include "octet/repair.h"

#include <algorithm>
#include <iterator>

#include "core/format.h"
#include "graph/label.h"
#include "ops/infer.h"
#include "passes/standardize/raise_opset.h"
#include "repair/rules.h"
#include "targets/checks.h"
#include "targets/onnxruntime/prepared.h"

namespace octet {

namespace {

constexpr Mend kTypeRepairs[] = {
    Mend::kFoldParameter,
    Mend::kConvertScale,
};

constexpr Mend kTensorRtForms[] = {
    Mend::kFoldParameter,
    Mend::kConvertScale,
    Mend::kStandardDomain,
    Mend::kStandardOperators,
    Mend::kUnknownOperators,
    Mend::kAddZeroPoint,
    Mend::kMatchZeroPoint,
    Mend::kDropOutputType,
    Mend::kSetAxis,
    Mend::kFoldBias,
    Mend::kFoldCodes,
    Mend::kDropCast,
    Mend::kClipCodes,
    Mend::kMoveCodes,
    Mend::kMergeQuantize,
    Mend::kDecomposeInput,
    Mend::kQLinearConv,
    Mend::kQLinearMatMul,
    Mend::kQGemm,
    Mend::kQLinearPointwise,
    Mend::kQLinearPool,
    Mend::kMatMulIntegerToFloat,
    Mend::kIntegerProduct,
    Mend::kScaleQuery,
};

// fold_row comes behind the shifts, which take a constant's codes and not its rounded values.
constexpr Mend kTensorRtNumbers[] = {
    Mend::kReplaceScale,
    Mend::kShiftActivation,
    Mend::kShiftTable,
    Mend::kFoldRow,
    Mend::kSymmetricActivation,
    Mend::kSymmetricWeight,
    Mend::kStoreWeight,
    Mend::kFloatWeight,
    Mend::kDynamicQuantize,
    Mend::kUnifyConcat,
    Mend::kUnifyQuantize,
    Mend::kUnblockWeight,
    Mend::kDynamicQuantizeMatMul,
    Mend::kFloatAttention,
    Mend::kPlaceAttention,
};

constexpr Mend kOnnxRuntimeForms[] = {
    Mend::kDynamicGemm,        Mend::kStandardOperators,
    Mend::kUnknownOperators,   Mend::kConvertScale,
    Mend::kAddZeroPoint,       Mend::kMatchZeroPoint,
    Mend::kSingleZeroPoint,    Mend::kScalarParameter,
    Mend::kDropKeptOutputType, Mend::kQOperatorWithoutKernel,
    Mend::kFoldMisreadBias,    Mend::kUnsignMoved,
    Mend::kWidenConcat,        Mend::kSplitQuantize,
    Mend::kSeparateConstants,  Mend::kDropDilations,
    Mend::kHideCodes,          Mend::kFloatProduct,
    Mend::kFloatInput,         Mend::kCodeBias,
    Mend::kWidenWeight,
};

constexpr Mend kOnnxRuntimeNumbers[] = {
    Mend::kReplaceScale,
};

// ONNX Runtime counts the steps of a bias in the type that it has.
constexpr Mend kOnnxRuntimeInHalf[] = {
    Mend::kCodeBias,
};

std::span<const Mend> mends_of_half_precision(TargetFamily family) {
  return family == TargetFamily::kOnnxRuntime ? std::span<const Mend>(kOnnxRuntimeInHalf)
                                              : std::span<const Mend>();
}

} // namespace

RepairFn* function_of(Mend mend) {
  switch (mend) {
  case Mend::kNone:
    break;
#define MEND(mend, name, function)                                                                 \
  case Mend::mend:                                                                                 \
    return function;
#include "targets/mends.def"
#undef MEND
  }
  return nullptr;
}

std::span<const Mend> type_repairs() {
  return kTypeRepairs;
}

std::span<const Mend> form_repairs(TargetFamily family) {
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

std::span<const Mend> number_repairs(TargetFamily family) {
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

namespace {

Result<Repaired>
repair_as_it_stands(const Graph& graph, std::string_view target, const RepairOptions& options) {
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
  const auto takes = [&](const Graph& g) -> Result<bool> {
    return accepted(OCTET_TRY(check(g, target)));
  };
  const bool raised_is_all =
      raised && out.changes.empty() && !OCTET_TRY(takes(graph)) && OCTET_TRY(takes(out.graph));
  if (raised_is_all || (raised && !out.changes.empty()))
    out.changes.push_back(
        {.rule = "raise_opset",
         .node = graph.name,
         .why = fmt::format("operator set {} becomes {}, which {}", graph.opset(), kOldestOpset,
                            raised_is_all ? "it takes" : "has the repairs' operators"),
         .exact = true});
  const std::string too_new = lower_versions(target, out);
  if (out.changes.empty()) out.graph = graph; // with what reaches no output
  if (options.data && !out.changes.empty())
    OCTET_TRY_WITH(measure(came, options, driver, out), "repair: measuring");
  if (options.precision != DType::kUndefined) {
    OCTET_TRY_WITH(half_precision(options, out), "repair: 16 bits");
    const size_t before = driver.changes().size();
    OCTET_TRY(driver.run(mends_of_half_precision(def->family)));
    std::copy(driver.changes().begin() + static_cast<std::ptrdiff_t>(before),
              driver.changes().end(), std::back_inserter(out.changes));
    if (options.data)
      OCTET_TRY_WITH(measure_outputs(came, options, out), "repair: 16 bits: measuring");
  }
  out.left = OCTET_TRY(check(out.graph, target));
  refuse_overflow(options, out);
  explain_what_bodies_leave(out.graph, out.left);
  explain_what_stays_too_new(too_new, out.left);
  return out;
}

/// The nodes that a target drops before it looks at Q and DQ, as changes.
std::vector<Change> dropped(const Graph& graph, const Graph& prepared) {
  std::vector<Change> out;
  for (const NodeId id : graph.nodes())
    if (!prepared.alive(id))
      out.push_back({.rule = "drop_no_op",
                     .node = name_of(graph, graph.node(id)),
                     .why = graph.node(id).is("Pad") ? "its zeros are those of the layer behind it"
                                                     : "it hands on what comes in",
                     .exact = true});
  return out;
}

} // namespace

Result<Repaired> repair(const Graph& graph, std::string_view target, const RepairOptions& options) {
  Repaired out = OCTET_TRY(repair_as_it_stands(graph, target, options));
  if (out.left.empty()) return out;
  // What the target drops may stand between a layer and the Q or DQ that a repair is to change.
  Graph typed = graph;
  if (!infer_types(typed).ok()) return out;
  const auto prepared = onnxruntime_prepared(typed, *OCTET_TRY(find_target(target)));
  if (!prepared) return out;
  Repaired without = OCTET_TRY(repair_as_it_stands(*prepared, target, options));
  if (without.left.size() >= out.left.size()) return out;
  const std::vector<Change> changes = dropped(graph, *prepared);
  without.changes.insert(without.changes.begin(), changes.begin(), changes.end());
  return without;
}

} // namespace octet
