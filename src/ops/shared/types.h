// SPDX-License-Identifier: Apache-2.0
// What the operators' inference shares about types, counts and axes: sets of element types, checks
// of inputs with their messages, axis normalization, values known before anything runs.
#pragma once

#include <initializer_list>

#include "ops/op.h"

namespace octet {

/// A set of element types.
class TypeSet {
 public:
  constexpr TypeSet(std::initializer_list<DType> types) {
    for (DType t : types)
      bits_ |= uint64_t{1} << static_cast<int>(t);
  }
  /// `t` may be a code that is no type: files hold any.
  constexpr bool has(DType t) const {
    const auto code = static_cast<uint64_t>(t);
    return code < 64 && (bits_ >> code & 1) != 0;
  }
  friend constexpr TypeSet operator|(TypeSet a, TypeSet b) {
    TypeSet r({});
    r.bits_ = a.bits_ | b.bits_;
    return r;
  }
  /// `f16, bf16, f32 or f64`.
  std::string text() const;

 private:
  uint64_t bits_ = 0;
};

inline constexpr TypeSet kFloatTypes{DType::kFloat16, DType::kBfloat16, DType::kFloat32,
                                     DType::kFloat64};
inline constexpr TypeSet kUnsignedTypes{DType::kUint8, DType::kUint16, DType::kUint32,
                                        DType::kUint64};
inline constexpr TypeSet kSignedTypes{DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64};
inline constexpr TypeSet kIntegerTypes = kSignedTypes | kUnsignedTypes;
inline constexpr TypeSet kNumericTypes = kFloatTypes | kIntegerTypes;
inline constexpr TypeSet kIndexTypes{DType::kInt32, DType::kInt64};
inline constexpr TypeSet kBoolType{DType::kBool};
inline constexpr TypeSet kInt64Type{DType::kInt64};

/// Errors: fewer than `min` inputs (omitted ones at the front of the list count), more than `max`.
Status check_count(const InferContext& ctx, size_t min, size_t max);
/// Errors: the input is omitted, or its type is known and not in the set.
Status check_input(const InferContext& ctx, size_t i, TypeSet allowed);
/// Errors: the shape of a present input is known and holds no single element.
Status check_scalar(const InferContext& ctx, size_t i);
Status check_present(const InferContext& ctx, size_t i);
/// The element type that inputs `first` to `last` (inclusive, omitted ones skipped) share;
/// kUndefined when none is known. Errors: two differ.
Result<DType> common_type(const InferContext& ctx, size_t first, size_t last);

/// 0 <= axis < rank for an axis counted from either end. Errors: out of range.
Result<int64_t> normalize_axis(int64_t axis, int64_t rank);
/// Each axis normalized. Errors: out of range, one given twice.
Result<std::vector<int64_t>> normalize_axes(std::span<const int64_t> axes, int64_t rank);

/// A list of integers that older versions take as an attribute and newer ones as an input.
struct ListArgument {
  bool given = false;                        ///< else the operator's default holds
  std::optional<std::vector<int64_t>> known; ///< nothing: given, but not known before it runs
};
ListArgument
list_argument(const InferContext& ctx, const char* attribute, size_t input, int64_t input_since);
/// The shape of a value whose length is all that is known: that many unknown dimensions.
std::vector<Dim> unknown_dims(int64_t rank);
/// The value, if it fits the type (rank 0 or 1, integers): what OutputInfo::value may hold.
void set_value(OutputInfo& output, std::optional<std::vector<Dim>> value);

/// The elements of an integer input of rank 0 or 1 as far as they are known, from its constant or
/// from its symbolic value.
std::optional<std::vector<Dim>> known_dims(const InputInfo& input);
/// The same when all are constants.
std::optional<std::vector<int64_t>> known_ints(const InputInfo& input);

/// The single output of most operators.
inline std::vector<OutputInfo> one(TypeInfo type) {
  return {OutputInfo(std::move(type))};
}
inline std::vector<OutputInfo> one(DType type, std::optional<std::vector<Dim>> shape) {
  TypeInfo info;
  info.type = type;
  info.shape = std::move(shape);
  return one(std::move(info));
}
inline std::vector<Tensor> one(Tensor tensor) {
  return {std::move(tensor)};
}

/// Inference on the tensors that an operator is evaluated on: it validates them as it validates
/// types, and gives the outputs' shapes. Every `eval` starts with it.
Result<std::vector<OutputInfo>> infer_values(InferFn* infer, const EvalContext& ctx);

/// The same for the shape of the first output. Errors: it does not follow from the inputs.
Result<Shape> infer_shape(InferFn* infer, const EvalContext& ctx);
/// The first input's bytes under the inferred shape.
Result<std::vector<Tensor>> eval_reshaped(InferFn* infer, const EvalContext& ctx);

// Answers for facets, beside those in op.h.
Role first_is_data(const Node& node, size_t input); ///< input 0 data, the rest constants
/// kUnary on input 0.
QuantTrait unary_table(const Node& node, std::span<const InputInfo> inputs);
/// kElementwise on every input.
QuantTrait elementwise_all(const Node& node, std::span<const InputInfo> inputs);
/// kSameScale from every input.
QuantTrait moves_all(const Node& node, std::span<const InputInfo> inputs);
/// None: the output holds shapes, indices or truth values.
QuantTrait no_real_output(const Node& node, std::span<const InputInfo> inputs);

} // namespace octet
