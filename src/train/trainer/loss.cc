// SPDX-License-Identifier: Apache-2.0
// Losses.
#include "train/trainer/loss.h"

#include "core/format.h"
#include <ATen/ops/argmax.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/one_hot.h>

namespace octet::train {
namespace {

bool is_softmax_of_classes(const Graph& graph, const Node& node) {
  if (!node.is("Softmax") && !node.is("LogSoftmax")) return false;
  const TypeInfo& x = graph.value(node.inputs[0]).type;
  const int64_t axis = node.attr_int("axis", graph.opset() < 13 ? 1 : -1);
  return axis == -1 || (x.has_rank() && (axis == x.rank() - 1));
}

} // namespace

Result<LossPlan> plan_loss(const Graph& graph, LossKind kind, bool has_labels) {
  if (graph.outputs().empty()) return error("the graph has no output to train");
  if (!has_labels) return error("the data set has no labels; training needs them for its loss");
  LossPlan plan{kind == LossKind::kAuto ? LossKind::kCrossEntropy : kind, graph.outputs()[0], 0};
  if (plan.kind == LossKind::kCrossEntropy) {
    ValueId value = plan.value;
    const Node* node = graph.producer(value);
    while (node != nullptr &&
           (node->is("QuantizeLinear") || node->is("DequantizeLinear") || node->is("Identity"))) {
      value = node->inputs[0];
      node = graph.producer(value);
    }
    if (node != nullptr && is_softmax_of_classes(graph, *node)) plan.value = node->inputs[0];
  }
  const TypeInfo& type = graph.value(graph.outputs()[0]).type;
  if (type.has_rank() && type.rank() >= 1)
    plan.classes = type.shape->back().maybe_value().value_or(0);
  return plan;
}

LossValue compute_loss(const LossPlan& plan,
                       const at::Tensor& output,
                       const at::Tensor& labels,
                       double smoothing) {
  TORCH_CHECK(output.dim() >= 2 && output.size(0) == labels.size(0), "the output ", output.sizes(),
              " does not hold classes for ", labels.size(0), " labels");
  LossValue value;
  if (plan.kind == LossKind::kMeanSquare)
    value.loss = at::mse_loss(output, at::one_hot(labels, output.size(1)).to(output.scalar_type()));
  else
    value.loss = at::cross_entropy_loss(output, labels, std::nullopt, /*reduction=*/1,
                                        /*ignore_index=*/-100, smoothing);
  value.correct = at::eq(at::argmax(output.detach(), 1), labels).sum().item().toLong();
  return value;
}

} // namespace octet::train
