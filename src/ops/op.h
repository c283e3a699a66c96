// SPDX-License-Identifier: Apache-2.0
// OpDef: everything octet knows of an operator. Each file of this room fills OpFacets; ops.def lists
// the operators once, and the registry and CMake read that list.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "octet/graph.h"
#include "octet/observer.h"

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
  std::vector<size_t> inputs;   ///< data inputs that take Q/DQ
  std::optional<size_t> weight; ///< input with weights
  int64_t weight_axis = 0;      ///< its output-channel axis
  std::optional<size_t> bias;   ///< input that scales with s_x * s_w
  bool weight_only = true;      ///< the weights may be in codes where the product is in float
  std::string reason;

  static QuantTrait none(std::string why) {
    QuantTrait t;
    t.reason = std::move(why);
    return t;
  }
};

/// Elements of inputs come out as they are. An operator may say less than is true of it.
struct Motion {
  enum class Kind : uint8_t {
    kNone,    ///< computes
    kView,    ///< all of them in their order
    kPermute, ///< each once, in another order
    kSelect,  ///< some, and some often, by place
    kOrder,   ///< some, chosen by their order: the same of codes only where their scale is positive
    kJoin,    ///< of several inputs, by place
    kFill,    ///< some by place, and a constant between them: of codes it had to be the zero point
    kCast,    ///< each in its place, as the nearest number of another type
  };
  static constexpr uint64_t kAll = ~uint64_t{0};

  Kind kind = Kind::kNone;
  uint64_t inputs = 1;  ///< bit k: elements of input k come out; kAll: of every input
  uint64_t outputs = 1; ///< bit k: output k holds nothing else; kAll: every output

  bool takes(size_t input) const { return holds(inputs, input); }
  bool gives(size_t output) const { return holds(outputs, output); }

 private:
  bool holds(uint64_t set, size_t k) const {
    return kind != Kind::kNone && (set == kAll || (k < 64 && (set >> k & 1) != 0));
  }
};

/// What an operator may ask for when it says what comes out.
struct RangeContext {
  const Node& node;
  std::function<Range(size_t)> in;               ///< of an input; kEverything: nothing is known
  std::function<const Tensor*(size_t)> constant; ///< an input's value, when it is constant; or null
};
inline constexpr Range kEverything{-std::numeric_limits<double>::infinity(),
                                   std::numeric_limits<double>::infinity()};

/// Small truths that rewrites ask for. False: not so, or nobody has said so.
struct Facts {
  bool broadcasts = false;   ///< its inputs, by NumPy's rule; then it works element by element
  bool idempotent = false;   ///< f(f(x)) = f(x)
  bool involution = false;   ///< f(f(x)) = x
  bool of_one_is_it = false; ///< of one input it is that input
  /// Of numbers that a float type holds it makes numbers that this type holds: nothing is rounded.
  bool exact = false;
  bool by_magnitude = false; ///< |f(x)| <= f(|x|) for each element
  bool products = false;     ///< adds up products of elements of two inputs
  bool random = false;       ///< two runs on the same inputs differ (Dropout that trains)
  bool on_codes = false;     ///< computes with codes; Q and DQ only step between them and numbers
  /// From operator set 13 to the newest that is written (kNewestOpset), a node means the same with
  /// the attributes and inputs that it has.
  bool unchanged = false;
  /// Bit k: output k may be left out, and the others are the same without it.
  uint32_t optional_outputs = 0;
};
inline constexpr Facts kNoFacts{};
inline constexpr Facts kUnchanged{.unchanged = true};

using InferFn = Result<std::vector<OutputInfo>>(const InferContext&);
using EvalFn = Result<std::vector<Tensor>>(const EvalContext&);
using RoleFn = Role(const Node&, size_t input);
using QuantFn = QuantTrait(const Node&, std::span<const InputInfo>);
using MotionFn = Motion(const Node&);
/// Of output 0, and of the outputs that its motion gives; holds for all inputs but NaN.
using ValueRangeFn = Range(const RangeContext&);

/// A facet has no default: leaving one out of OpFacets does not compile.
template <class Fn>
struct Facet {
  Fn* fn;
  constexpr Facet(Fn* f) : fn(f) {} // NOLINT(google-explicit-constructor): reads as .infer = infer
  Facet() = delete;
};
/// The same for an answer that does not depend on the node.
template <class T>
struct Fixed {
  T value;
  constexpr Fixed(T v) : value(v) {} // NOLINT(google-explicit-constructor)
  Fixed() = delete;
};

/// What an operator's file says of it.
struct OpFacets {
  int64_t since; ///< first operator set version that this file understands
  Facet<InferFn> infer;
  Facet<EvalFn> eval;
  Facet<RoleFn> roles;
  Facet<QuantFn> quant;
  Facet<MotionFn> motion;
  Facet<ValueRangeFn> range;
  Fixed<Facts> facts;
};

/// An operator: the domain and name of its line in ops.def, and its facets.
struct OpDef : OpFacets {
  std::string_view domain; ///< "" is ai.onnx
  std::string_view name;
};

/// The definition for domain and type ("" and "ai.onnx" are one), or null.
const OpDef* find_op(std::string_view domain, std::string_view op_type);
/// All definitions, in the order of ops.def.
std::span<const OpDef> all_ops();
/// What is true of the node's operator; nothing, of one that octet does not know.
Facts facts_of(const Node& node);
/// Which elements come out of the node; none, of an operator that octet does not know.
Motion motion_of(const Node& node);
/// Elements of input 0, and of no other, come out of output 0, and there are no other outputs:
/// what stands before the node may stand behind it. (Not what fills in, or makes another type.)
bool moves_values(const Node& node);

// The usual answers for facets.
Role all_data(const Node& node, size_t input);
QuantTrait not_quantizable(const Node& node, std::span<const InputInfo> inputs);
/// kSameScale from input 0 to output 0.
QuantTrait moves_data(const Node& node, std::span<const InputInfo> inputs);
Motion nothing_moves(const Node& node);
/// Elements of input 0 come out of output 0, whatever the attributes.
template <Motion::Kind kKind>
Motion moves_first(const Node&) {
  return {.kind = kKind};
}
/// The same of every input.
Motion joins_all(const Node& node);
Motion orders_all(const Node& node);
Range unbounded(const RangeContext& context);
/// What comes out lay in one of the inputs that the motion takes from.
Range of_sources(const RangeContext& context);
template <int kLow, int kHigh>
Range within(const RangeContext&) {
  return {kLow, kHigh};
}
/// Nothing below 0.
Range not_negative(const RangeContext& context);

} // namespace octet
