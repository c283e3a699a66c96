// SPDX-License-Identifier: Apache-2.0
// Exports: one quantized graph in the forms that runtimes read, float parts in 16 bits, and another
// operator set. What each changes in the numbers is in docs/export.md.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "octet/quantize.h"

namespace octet {

/// How codes are written down.
enum class FileForm {
  kQdq,       ///< QuantizeLinear and DequantizeLinear around float operators
  kQcdq,      ///< the same with a Clip between them that states the bits, as Brevitas writes it
  kQOperator, ///< operators on codes: QLinearConv, QLinearMatMul, com.microsoft's QLinearAdd, ...
  kFused,     ///< kQOperator, and the float operators between as com.microsoft's fused ones
  kQOrdered,  ///< com.microsoft's QOrdered operators, which ONNX Runtime runs on CUDA alone
};
std::string_view name(FileForm form);
Result<FileForm> parse_file_form(std::string_view text);

/// Something that an export did, or left as it was, with the reason.
struct ExportNote {
  std::string rule; ///< a verb: "qlinear_conv", "keep_float"
  std::string node; ///< or the value's name
  std::string why;
  bool exact = true; ///< no output bit changes
};

/// Rewrites a Q/DQ graph. A layer whose Q/DQ has no counterpart in the form keeps them, and a note
/// with the rule "left" says why. Errors: a graph whose types do not fit together, kQOrdered of one
/// that has no layer for it (kRefused, with reasons).
Result<std::vector<ExportNote>> convert_form(Graph& graph, FileForm form);

/// Writes products of octet's own dynamic form (a scale for each row) as DynamicQuantizeLinear and
/// MatMulInteger, which ONNX Runtime runs; numbers change. Errors: types that do not fit together.
Result<std::vector<ExportNote>> convert_dynamic(Graph& graph);

struct PrecisionOptions {
  DType type = DType::kFloat16; ///< or kBfloat16
  /// Patterns of node names or operators that stay in f32 (as QuantizeOptions::exclude).
  std::vector<std::string> keep_float;
  /// What values were seen to hold, by name: layers that read or write more than the type holds
  /// stay in f32.
  std::map<std::string, Range> ranges;
  /// The graph is raised no further than this; what would need more stays in f32.
  int64_t max_opset = 23;
};

/// Computes in 16 bits what was f32, in a later operator set where ONNX's operators take the type
/// from there on (Q and DQ 19, bf16 in Conv and pools 22). Graph inputs and outputs keep their
/// types. Layers that need f32 keep it, with casts around them; every one of them, and every
/// constant that had to be clamped, has a note. Errors: a pattern that matches nothing, types that
/// do not fit together.
Result<std::vector<ExportNote>> convert_precision(Graph& graph, const PrecisionOptions& options);

/// For PrecisionOptions::ranges: what the f32 values of a graph hold on data, but those that only
/// mask (magnitudes beyond 1e30, which convert_precision clamps). Empty executor: the reference.
/// Errors: as calibration.
Result<std::map<std::string, Range>> precision_ranges(const Graph& graph,
                                                      const CalibrationSource& source,
                                                      const ExecutorFactory& executor = {});

/// Widens ranges until the scales of activations and weights are numbers of `type`, so that
/// convert_precision keeps every code.
void round_scales(QuantizationPlan& plan, DType type);

/// Writes the graph for another operator set, 13 to 23. Up: see passes/raise_opset.h; down:
/// operators that the older set lacks become chains. The graph is unchanged on an error, which
/// names the node that has no counterpart.
Result<std::vector<ExportNote>> convert_opset(Graph& graph, int64_t version);

} // namespace octet
