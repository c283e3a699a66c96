// SPDX-License-Identifier: Apache-2.0
// Writes Q and DQ nodes with their scales and zero points. Equal scales and zero points are one
// initializer, named after the tensor that had it first (zero points of 0 after their type), except
// that each weight has a zero point of its own: ONNX Runtime 1.31 with
// session.x64quantprecision=1 refuses files in which weights share one ("Attempt to replace the
// existing tensor"). Every node has all three inputs; only per-channel nodes have an axis.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/pages.h"
#include "ops/qdq/grid.h"
#include "quant/scheme.h"

#include "octet/graph.h"
#include "octet/quantize.h"

namespace octet {

class QdqWriter {
 public:
  explicit QdqWriter(Graph& graph) : graph_(graph) {}

  /// The codes of `x`, by a new QuantizeLinear; below the bits of their type with a Clip behind it.
  ValueId quantize(ValueId x, const TensorPlan& plan);
  /// The float value of codes, by a new DequantizeLinear named after `of`.
  ValueId dequantize(ValueId codes, const TensorPlan& plan, const std::string& of);
  /// How a weight is written.
  enum class WeightForm {
    kStored,  ///< codes, DQ
    kFloat,   ///< the float constant, Q, DQ
    kTrained, ///< the same with a Clip between the two below 8 bits: the constant will change
  };
  /// The codes of a weight, which weight() then stores. Errors: as those.
  Result<Tensor> weight_codes(ValueId constant, const TensorPlan& plan);
  /// The float value of a weight. Readers of the same weight share what is stored. Errors: the
  /// constant does not fit the plan.
  Result<ValueId> weight(ValueId constant, const TensorPlan& plan, WeightForm form);
  /// An int32 bias with the given scales (one, or one a channel) and its DQ.
  ValueId int32_bias(const std::string& name,
                     const std::vector<int32_t>& codes,
                     const std::vector<float>& scales);

  ValueId constant(const std::string& name, const Tensor& tensor);

 private:
  Result<qdq::Grid> weight_grid(ValueId constant, const TensorPlan& plan) const;
  ValueId zero_point(const Tensor& zero, const std::string& of);
  ValueId clipped(ValueId codes, const Scheme& scheme);
  /// A node `<of>_quantized` or `<of>_dequantized`.
  ValueId pair(const char* op,
               ValueId x,
               const qdq::Grid& grid,
               const std::string& of,
               ValueId own_zero_point = {},
               ValueId own_scale = {});
  /// The scales of a weight: f32, E8M0, or what a DQ of their own makes of codes of E4M3FN.
  ValueId weight_scale(const qdq::Grid& grid, const TensorPlan& plan, const std::string& of);
  ValueId
  emit(const char* op, std::vector<ValueId> inputs, const qdq::Grid& grid, const std::string& name);

  Graph& graph_;
  std::map<std::pair<int32_t, std::string>, ValueId> constants_; ///< by type and bytes with shape
  struct Stored {
    ValueId codes, zero_point, scale;
  };
  std::map<ValueId, Stored> stored_;
  std::map<ValueId, Tensor> coded_; ///< by weight
  MadeTensors made_;
};

/// The scales and zero points of a plan's ranges: f32, of rank 0, or [C] along the plan's axis, or of
/// the rank of `weight` with blocks.
qdq::Grid grid_for(const TensorPlan& plan, const Shape& weight = {});
/// Errors: a plan with an axis or blocks that the weight does not have, another number of ranges
/// than scales, a scheme that cannot be.
Status check_weight(const Tensor& weight, const TensorPlan& plan);
/// The codes of a constant weight. Errors: those of check_weight, NaN.
Result<Tensor> weight_codes(const Tensor& weight, const TensorPlan& plan);
/// The weight for which QuantizeLinear, which knows all codes of a type alone, makes those of the
/// plan; nothing where the weight is one. Errors: those of check_weight.
Result<std::optional<Tensor>> within_codes(const Tensor& weight, const TensorPlan& plan);

} // namespace octet
