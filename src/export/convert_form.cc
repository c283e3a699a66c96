// SPDX-License-Identifier: Apache-2.0
// One Q/DQ graph in the form that a runtime wants.
#include <algorithm>
#include <array>

#include "core/format.h"
#include "core/string_util.h"
#include "export/coded_product.h"
#include "export/ordered.h"
#include "export/qcdq.h"
#include "export/qlinear_limits.h"
#include "graph/verify.h"
#include "ops/infer.h"
#include "passes/export_note.h"
#include "passes/simplify/rules.h"
#include "targets/checks.h"
#include "targets/onnxruntime/ordered.h"

#include "octet/export.h"

namespace octet {

namespace {

constexpr std::pair<FileForm, std::string_view> kNames[] = {{FileForm::kQdq, "qdq"},
                                                            {FileForm::kQcdq, "qcdq"},
                                                            {FileForm::kQOperator, "qoperator"},
                                                            {FileForm::kFused, "fused"},
                                                            {FileForm::kQOrdered, "qordered"}};

/// Before any operator takes codes: those of all its tensors are still behind DQ and before Q.
constexpr Rule kTypeRules[] = {{"one_type_of_product", one_type_of_product},
                               {"one_type_around", one_type_around}};
constexpr Rule kQOperatorRules[] = {
    {"drop_pair", drop_pair},           {"move_on_codes", move_on_codes},
    {"qlinear_conv", qlinear_conv},     {"qlinear_matmul", qlinear_matmul},
    {"integer_matmul", integer_matmul}, {"qgemm", qgemm_form},
    {"qlinear_around", qlinear_around}, {"qlinear_concat", qlinear_concat},
    {"qlinear_where", qlinear_where},
};
/// Biases go into what follows the sum where that takes one: it is cheaper there than in a product.
constexpr Rule kFusedRules[] = {{"bias_gelu", bias_gelu}};
constexpr Rule kBiasRules[] = {{"add_matmul_bias", add_matmul_bias}};
/// An attention is known by the layers around it, so it comes before them.
constexpr Rule kAttentionRules[] = {{"qordered_attention", ordered_attention}};
constexpr Rule kOrderedRules[] = {{"share_mask", eliminate_duplicates},
                                  {"qordered_matmul", ordered_product},
                                  {"qordered_gelu", ordered_gelu},
                                  {"qordered_layer_norm", ordered_norm}};

Status apply(Graph& graph, std::span<const Rule> rules, std::vector<ExportNote>& notes) {
  add_notes(OCTET_TRY(rewrite(graph, rules)), notes);
  return ok_status();
}

/// What computes in float between the DQ and Q that are left.
void note_left(const Graph& graph, std::vector<ExportNote>& notes) {
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (is_qdq(node) || !node.domain.empty()) continue;
    const auto through_dq = [&](ValueId in) {
      const Node* before = in.valid() ? graph.producer(in) : nullptr;
      return before != nullptr && is_dequantize(*before);
    };
    if (std::none_of(node.inputs.begin(), node.inputs.end(), through_dq)) continue;
    notes.push_back({"left", label(graph, node),
                     "it reads Q/DQ in a way that no operator on codes has: it computes in float",
                     true});
  }
}

/// The same for the layers that might have a QOrdered operator, each with its own reason.
void note_unordered(const Graph& graph, std::vector<ExportNote>& notes) {
  const Uses uses(graph);
  const OrderedLayers layers(graph, uses, Between::kCodes);
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (const std::string why = layers.why_not(node); !why.empty())
      notes.push_back({"left", label(graph, node), why, true});
  }
}

Status write_ordered(Graph& graph, std::vector<ExportNote>& notes) {
  OCTET_TRY(apply(graph, kAttentionRules, notes));
  OCTET_TRY(apply(graph, kOrderedRules, notes));
  const bool written = std::any_of(notes.begin(), notes.end(), [](const ExportNote& note) {
    return note.rule.starts_with("qordered");
  });
  note_unordered(graph, notes);
  if (written) return ok_status();
  std::string reasons;
  for (const ExportNote& note : notes)
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", note.node, note.why);
  return error(
      ErrorCode::kRefused,
      "no layer has a QOrdered operator; quantize the float model for onnxruntime-cuda{}{}",
      reasons.empty() ? "" : ": ", reasons);
}

/// Clip has taken codes since operator set 12.
Status raise_for_clips(Graph& graph, std::vector<ExportNote>& notes) {
  constexpr int64_t kClipsCodes = 12, kOldestToRaiseTo = 13;
  if (graph.opset() >= kClipsCodes) return ok_status();
  notes = OCTET_TRY(convert_opset(graph, kOldestToRaiseTo));
  notes.push_back({"raise_opset", graph.name,
                   fmt::format("to {}: Clip takes codes since {}", kOldestToRaiseTo, kClipsCodes),
                   true});
  return infer_types(graph);
}

} // namespace

std::string_view name(FileForm form) {
  for (const auto& [known, text] : kNames)
    if (known == form) return text;
  return "qdq";
}

Result<FileForm> parse_file_form(std::string_view text) {
  std::vector<std::string> names;
  for (const auto& [form, known] : kNames) {
    if (known == text) return form;
    names.emplace_back(known);
  }
  return error("unknown form \"{}\"{}", text, suggestion(text, names));
}

Result<std::vector<ExportNote>> convert_form(Graph& graph, FileForm form) {
  std::vector<ExportNote> notes;
  if (form == FileForm::kQdq) return notes;
  const auto convert = [&]() -> Status {
    OCTET_TRY(infer_types(graph));
    if (form == FileForm::kQcdq) {
      OCTET_TRY(raise_for_clips(graph, notes));
      const std::vector<ExportNote> clips = write_qcdq(graph);
      notes.insert(notes.end(), clips.begin(), clips.end());
    } else if (form == FileForm::kQOrdered) {
      OCTET_TRY(write_ordered(graph, notes));
    } else {
      make_parameters_scalar(graph);
      OCTET_TRY(apply(graph, kTypeRules, notes));
      OCTET_TRY(apply(graph, kQOperatorRules, notes));
      if (form == FileForm::kFused) {
        OCTET_TRY(apply(graph, kFusedRules, notes));
        OCTET_TRY(apply(graph, kBiasRules, notes));
      }
      note_left(graph, notes);
    }
    graph.remove_dead();
    OCTET_TRY(infer_types(graph));
    return verify(graph);
  };
  OCTET_TRY_WITH(convert(), fmt::format("form {}", name(form)));
  return notes;
}

} // namespace octet
