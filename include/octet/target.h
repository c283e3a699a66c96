// SPDX-License-Identifier: Apache-2.0
// Targets: what runs a quantized file, and what it makes of it. Rules are tables by version, from
// docs/targets.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "octet/dtype.h"
#include "octet/graph.h"

namespace octet {

/// Names that are taken: tensorrt-8.5 to tensorrt-11.1, tensorrt-10 (the newest 10) and the like,
/// onnxruntime, octet.
std::vector<std::string_view> target_names();
/// The name when it is known, without a patch version ("tensorrt-10.13.3" is tensorrt-10.13); an
/// error names the nearest one.
Result<std::string> parse_target(std::string_view name);

enum class Severity {
  kError,   ///< the target refuses the file, or computes something else than it says
  kWarning, ///< it runs, but not as well, or not elsewhere
};

/// One thing that a target does not take.
struct Finding {
  std::string rule; ///< "zero-point-not-zero"
  Severity severity = Severity::kError;
  std::string node; ///< or the value's name
  std::string message;
  std::string fix;
  std::string source; ///< section of docs/targets.md
  NodeId id; ///< of the graph that was checked; invalid: a value, the model, or inside a body
};

/// Everything that the target would refuse or misread; empty: accepted. Types that do not fit
/// together are a finding too, `invalid-types`. Errors: an unknown target.
Result<std::vector<Finding>> check(const Graph& graph, std::string_view target);
bool accepted(const std::vector<Finding>& findings); ///< no finding is an error

/// What a layer runs in.
enum class LayerPrecision : uint8_t {
  kFloat, ///< a floating type that the target chooses
  kTyped, ///< LayerForm::type, as the file says: TensorRT 11
  kInt8,
  kFp8,
  kFp4,
  kCodes,   ///< moves codes without computing
  kFused,   ///< done by another layer
  kRefused, ///< the target does not take it: `why` says by which rule
};
/// "float", "int8", "fp8", "fp4", "codes", "fused", "refused"; of kTyped "fp32", "fp16", "bf16", or
/// what octet calls the type.
std::string_view name(LayerPrecision precision, DType type = DType::kUndefined);

/// How one layer will run.
struct LayerForm {
  std::string node;
  std::string op;
  std::string form; ///< the operator that runs: "QLinearConv", "FusedConv", "Conv"
  LayerPrecision precision = LayerPrecision::kFloat;
  DType type = DType::kUndefined; ///< of kTyped
  std::string why;                ///< where it falls back: the condition that failed
  std::string source;
  std::string fusion; ///< what it is computed with: `attention "softmax_3"`; empty: by itself
  std::string mend;   ///< the change that would put it into 8 bits; empty where none would
  std::vector<std::string> wants_codes; ///< values on which the mend puts Q/DQ
  int64_t work = 0;       ///< multiply-adds of a product; dimensions that are not known count as 1
  int64_t float_work = 0; ///< of these, what a layer of kInt8 computes in float: docs/explain.md
  NodeId id;              ///< of the graph that was explained; invalid: what several nodes became

  std::string_view precision_name() const { return name(precision, type); }
};

/// One entry for each node that computes something (constants, Q and DQ are left out, and what
/// another node absorbs is named there).
Result<std::vector<LayerForm>> explain(const Graph& graph, std::string_view target);
/// Share of the multiply-adds that run in a precision, 0 to 1.
double share_in(const std::vector<LayerForm>& layers, LayerPrecision precision);
inline double int8_share(const std::vector<LayerForm>& layers) {
  return share_in(layers, LayerPrecision::kInt8);
}

/// A layer that runs otherwise in another file or on another target.
struct LayerChange {
  std::string node, op;
  std::string before, after; ///< form and precision; empty: the layer is not there
  std::string why;           ///< of the second
};
/// What changed from one explanation to another, layers matched by name, in the second's order.
std::vector<LayerChange> diff(const std::vector<LayerForm>& before,
                              const std::vector<LayerForm>& after);

/// The answer to "Missing scale and zero-point for tensor X, expect fall back to non-int8
/// implementation for any layer consuming or producing given tensor".
struct TensorAnswer {
  std::string tensor;
  std::string producer;               ///< `Conv "c1"`, "input" or "constant"
  std::vector<std::string> consumers; ///< the same
  bool matters = false;               ///< a layer that could run in int8 does not, for want of it
  std::string why, fix;
};
/// Errors: no such tensor (with the nearest name), an unknown target.
Result<TensorAnswer>
explain_tensor(const Graph& graph, std::string_view tensor, std::string_view target);

} // namespace octet
