// SPDX-License-Identifier: Apache-2.0
// The weights of a plan: which there are, along which axis or in which blocks they are cut, and over
// which ranges.
#pragma once

#include <string>
#include <unordered_map>

#include "ops/op.h"
#include "quant/place.h"

namespace octet {

/// What algorithms are called where numbers are taken as they are, with scale 1.
inline constexpr std::string_view kDirect = "direct";

/// What a layer's entry says where the target does not take the blocks that all layers should have.
inline constexpr std::string_view kWithoutBlocks = "without blocks";

/// What a plan notes of ranges that give no usable scale; empty: all do.
std::string replaced_note(const TensorPlan& tensor);

class WeightPlans {
 public:
  /// All of them must outlive it. The plan has its nodes.
  WeightPlans(const Graph& graph,
              const Placement& placement,
              const QuantizeOptions& options,
              QuantizationPlan& plan)
      : graph_(graph), placement_(placement), options_(options), plan_(plan) {}

  /// Adds the weights to the plan, without ranges. Products whose int32 sums could overflow become
  /// float; weights whose blocks the target does not take have none, unless a pattern of their own
  /// wants them. Errors: readers of one weight that want different formats, such blocks of a pattern
  /// or an odd number of int4 codes that the target does not take, a pattern whose format no weight
  /// takes.
  Status list();
  /// Takes their ranges. Errors name the weight: NaN, infinities.
  Status observe();

 private:
  struct Weight {
    ValueId value;
    NodeId reader; ///< the last of them, for messages
  };

  QuantTrait trait(const Node& node) const;
  TensorPlan plan_of(const Node& node, const Tensor& w, const NodeFormat& format) const;
  bool takes_blocks(const Tensor& w, const TensorPlan& plan) const;
  Status check_named_blocks(const Node& node, const Tensor& w, const TensorPlan& plan) const;
  NodeFormat without_blocks(const Tensor& w, NodeFormat format) const;
  Status check_even(const Node& node, const Tensor& w, const TensorPlan& plan) const;
  Status add(const Weight& weight, TensorPlan out);
  Status observe(TensorPlan& tensor, const Tensor& w, const Node& reader) const;
  bool fits_int32(const Node& node, const Tensor& w) const;
  Status check_effects() const;

  const Graph& graph_;
  const Placement& placement_;
  const QuantizeOptions& options_;
  QuantizationPlan& plan_;
  std::unordered_map<std::string, Weight> weights_; ///< by name
};

} // namespace octet
