// SPDX-License-Identifier: Apache-2.0
// OpDef: everything octet knows of an operator, in one struct that each file of this room fills.
// ops.def lists the operators once; the registry and CMake read that list.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "octet/graph.h"

namespace octet {

/// What is known of an input before anything runs.
struct InputInfo {
  bool present = false;             ///< false: an omitted optional input
  TypeInfo type;                    ///< may be partly unknown
  const Tensor* constant = nullptr; ///< the value, when it is constant
  /// The elements of an integer scalar or vector as far as they are known (shape computations).
  std::optional<std::vector<Dim>> value;
};

struct InferContext {
  const Node& node;
  int64_t version; ///< of the operator set that the node is written in
  std::vector<InputInfo> inputs;
  /// Types of a subgraph's outputs, given types for its inputs (If, Loop, Scan).
  std::function<Result<std::vector<TypeInfo>>(const Graph&, std::span<const TypeInfo>)> infer_body;

  const InputInfo& input(size_t i) const;
  bool has(size_t i) const { return i < inputs.size() && inputs[i].present; }
};

struct OutputInfo {
  OutputInfo(TypeInfo t = {}) : type(std::move(t)) {} // NOLINT(google-explicit-constructor)
  TypeInfo type;
  std::optional<std::vector<Dim>> value; ///< see InputInfo::value
};

struct EvalContext {
  const Node& node;
  int64_t version;
  std::vector<Tensor> inputs; ///< an empty() tensor stands for an omitted input
  /// Runs a subgraph of the node on values for its inputs (captures are filled in).
  std::function<Result<std::vector<Tensor>>(const Graph&, std::span<const Tensor>)> run_body;
  uint64_t seed = 0; ///< for operators that draw random numbers

  bool has(size_t i) const { return i < inputs.size() && !inputs[i].empty(); }
};

/// What an input is to training and to quantization.
enum class Role {
  kData,      ///< activations
  kWeight,    ///< trainable, multiplies data (also embedding tables)
  kBias,      ///< trainable, added
  kGain,      ///< trainable, per-channel factor of a normalization
  kStatistic, ///< running mean or variance: updated, not trained
  kConstant,  ///< shapes, axes, indices, scales, zero points, masks: never trained
};

/// How an operator takes part in quantization.
struct QuantTrait {
  enum class Kind {
    kNone,        ///< stays in float; `reason` says why
    kWeighted,    ///< product with weights: inputs quantized, accumulates in int32
    kProduct,     ///< product of two activations
    kSameScale,   ///< moves or selects data: output scale and zero point are the input's
    kElementwise, ///< integer only when inputs and output are quantized
    kUnary,       ///< function of one tensor: a table between two int8 tensors
  };
  Kind kind = Kind::kNone;
  std::vector<size_t> inputs;                            ///< data inputs that take Q/DQ
  std::optional<size_t> weight;                          ///< input with weights
  int64_t weight_axis = 0;                               ///< its output-channel axis
  std::optional<size_t> bias;                            ///< input that scales with s_x * s_w
  std::optional<std::pair<double, double>> output_range; ///< fixed, when the function bounds it
  std::string reason;

  static QuantTrait none(std::string why) {
    QuantTrait t;
    t.reason = std::move(why);
    return t;
  }
};

using InferFn = Result<std::vector<OutputInfo>>(const InferContext&);
using EvalFn = Result<std::vector<Tensor>>(const EvalContext&);
using RoleFn = Role(const Node&, size_t input);
using QuantFn = QuantTrait(const Node&, std::span<const InputInfo>);

/// A facet has no default: leaving one out of an OpDef does not compile.
template <class Fn>
struct Facet {
  Fn* fn;
  constexpr Facet(Fn* f) : fn(f) {} // NOLINT(google-explicit-constructor): reads as .infer = infer
  Facet() = delete;
};

struct OpDef {
  std::string_view domain;
  std::string_view name;
  int64_t since; ///< first operator set version that this file understands
  Facet<InferFn> infer;
  Facet<EvalFn> eval;
  Facet<RoleFn> roles;
  Facet<QuantFn> quant;
};

/// The definition for domain and type ("" and "ai.onnx" are one), or null.
const OpDef* find_op(std::string_view domain, std::string_view op_type);
/// All definitions, in the order of ops.def.
std::span<const OpDef* const> all_ops();

// The usual answers for facets.
Role all_data(const Node& node, size_t input);
QuantTrait not_quantizable(const Node& node, std::span<const InputInfo> inputs);
/// kSameScale from input 0 to output 0.
QuantTrait moves_data(const Node& node, std::span<const InputInfo> inputs);

} // namespace octet
