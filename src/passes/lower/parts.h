// SPDX-License-Identifier: Apache-2.0
// How rules write an operator as others of ONNX, in f32.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "passes/rewrite.h"

namespace octet::lowering {

class Parts {
 public:
  /// `reason`: why the node may be written so.
  Parts(const RuleContext& context, const Node& node, const char* reason)
      : graph_(context.graph), name_(node.name),
        patch_(context.graph, reason, Exactness::kRounding) {
    patch_.from(node);
  }

  ValueId op(const std::string& type, std::vector<ValueId> inputs, Attributes attributes = {}) {
    return patch_.emit(type, std::move(inputs), std::move(attributes), name_ + "/" + type);
  }
  /// A Reduce operator over these axes, which stay with size 1.
  ValueId reduced(const std::string& type, ValueId x, std::vector<int64_t> axes) {
    Attributes attributes;
    if (graph_.opset() >= (type == "ReduceSum" ? 13 : 18))
      return op(type, {x, integers(axes)}, std::move(attributes));
    attributes["axes"].value = std::move(axes);
    return op(type, {x}, std::move(attributes));
  }
  ValueId reshaped(ValueId x, const std::vector<int64_t>& shape) {
    return op("Reshape", {x, integers(shape)});
  }
  ValueId number(double value) {
    return patch_.constant(name_ + "/number", Tensor::scalar<float>(static_cast<float>(value)));
  }
  ValueId numbers(const std::vector<float>& values) {
    return patch_.constant(name_ + "/numbers", Tensor::of<float>({std::ssize(values)}, values));
  }
  ValueId integers(const std::vector<int64_t>& values) {
    return patch_.constant(name_ + "/list", Tensor::of<int64_t>({std::ssize(values)}, values));
  }
  /// The patch, with `y` in place of the node's first output.
  Patch finish(const Node& node, ValueId y) {
    patch_.replace(node.output(0), y);
    return std::move(patch_);
  }

 private:
  const Graph& graph_;
  std::string name_;
  Patch patch_;
};

/// The type of the node's first input where that is f32 of known rank, 1 or more; else null.
inline const TypeInfo* float_input(const RuleContext& context, const Node& node) {
  if (!node.input(0).valid()) return nullptr;
  const TypeInfo& x = context.graph.value(node.input(0)).type;
  return x.type == DType::kFloat32 && x.has_rank() && x.rank() > 0 ? &x : nullptr;
}

} // namespace octet::lowering
