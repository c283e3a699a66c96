// SPDX-License-Identifier: Apache-2.0
// Placement: what a target wants Q/DQ to look like, as data. Whoever knows targets fills it in
// (src/targets/, one file a target) and hands it to planning and applying.
#pragma once

#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "octet/graph.h"
#include "octet/number_format.h"
#include "octet/observer.h"
#include "octet/quantize.h"

namespace octet {

/// How an operator takes part.
enum class Treatment {
  kProduct,  ///< inputs and weights quantized, sum in int32
  kAround,   ///< in integers only when inputs and output are quantized
  kSummed,   ///< Add: as kAround, but a Conv or Gemm before it adds the codes of the other side to
             ///< its sums before it rounds
  kResidual, ///< Add: the shortcut alone is quantized
  kMoves,    ///< moves codes: the output has the input's scale
  kAbsorbed, ///< a clamp that the producer's Q does by itself
  kCommutes, ///< the target moves Q and DQ through it: it needs none of its own
  kFloat,    ///< never; the clause says why
};
/// Whether the output is quantized at the node that makes it. kBehindClamp is kAlways for what a
/// target computes together with the Relu or Clip that alone reads it; products always are.
/// kUnlessCostly is kAlways for what a target also computes from codes to float.
enum class OutputCodes { kNever, kWhenRead, kAlways, kBehindClamp, kUnlessCostly };

struct PlacementRule {
  std::string_view op; ///< of the default domain
  Treatment treatment;
  OutputCodes output;
  std::string_view clause;
  std::string_view why;
  /// Only where the softmax option asks for it, and then in codes on both sides, whatever stands
  /// before and behind it. The range of its output is the operator's, the same for all data.
  bool on_request = false;
  /// Nodes that it is for, nullptr: all. Others stay in float for the reason `else_why`.
  bool (*takes)(const Graph& graph, const Node& node) = nullptr;
  std::string_view else_why = {};
};

enum class DynamicForm { kNone, kOnnx, kOctet };

/// Codes beyond int8 and uint8 that a target takes as weights.
struct StoredFormat {
  NumberFormat format; ///< without blocks of one's own choice
  bool blocks;         ///< it may have those
  bool activations;    ///< it may be that of activations
};

struct Placement;
/// place() by patterns of a target's own, of several nodes each. What it says of the graph and errors
/// are those of place() (quant/place.h).
using PlaceFn = Result<std::vector<NodePlan>>(const Graph& graph,
                                              const Placement& placement,
                                              const QuantizeOptions& options,
                                              const std::set<std::string>& in_float);
/// Writes a prepared float graph as those patterns want it.
using ArrangeFn = Status(Graph& graph);

struct Placement {
  std::string_view target;
  Scheme activation;
  bool symmetric_only; ///< a zero point that is not 0 is refused
  Scheme weight;
  bool stored_weights; ///< int8 weight and DQ; else float weight, Q, DQ
  /// A Gemm without a quantized output takes an int32 bias.
  bool int32_gemm_bias;
  /// A Relu or Clip of a symmetric scheme cannot be absorbed: use asymmetric codes after it.
  bool asymmetric_after_clamp;
  /// Gather takes stored int8 rows (TensorRT's int8 constants feed DequantizeLinear alone).
  bool gathers_codes;
  DynamicForm dynamic;
  int64_t min_opset, max_opset;
  /// Of ONNX files, the highest that the runtime reads.
  int64_t max_ir_version = std::numeric_limits<int64_t>::max();
  /// Whether a product with a float bias still becomes integer; else the bias is stored as int32.
  bool float_bias = true;
  /// Whether its files meet a runtime that rounds float biases to int32 codes at s_x s_w and cuts off
  /// what does not fit.
  bool rounds_biases = false;
  std::span<const PlacementRule> rules;
  std::span<const StoredFormat> formats;
  /// Blocks divide the axis, which is one of the last two.
  bool whole_blocks = false;
  /// Of several constant matrices (MatMul by weights of rank 3 and more) columns may have scales.
  bool scales_of_matrices = true;
  bool even_int4 = false; ///< weights in int4 have an even number of elements
  /// Matrix products of many columns whose sums have no more terms compute in float, with stored
  /// weights, where no layer reads their output in codes: rounding x and scaling the sums costs more
  /// than it saves. Recurrent layers with no more inputs likewise.
  int64_t few_terms = 0;
  /// In the static mode instead of `rules`, which then say of single operators what is `on_request`.
  PlaceFn* place = nullptr;
  ArrangeFn* arrange = nullptr;
  /// All readers of a value take it from one DQ.
  bool one_dequantize = false;
  std::string_view otherwise_clause; ///< for operators without a rule
  std::string_view otherwise;

  const PlacementRule* rule(std::string_view op) const;
  const PlacementRule* rule(const Node& node) const;
};

} // namespace octet
