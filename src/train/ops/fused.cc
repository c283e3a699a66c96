// SPDX-License-Identifier: Apache-2.0
// Products with what ONNX Runtime's optimizer takes into them (com.microsoft): the mappings of their
// parts, one after the other.
#include <algorithm>

#include "ops/microsoft/fused_activation.h"
#include "train/ops/mapping.h"
#include "train/ops/table.h"
#include <ATen/ops/matmul.h>

using octet::Node;
using octet::train::Apply;
using octet::train::Call;
using octet::train::Prepare;

namespace {

/// The mapping of an operator of ai.onnx that stands inside another; empty: it has none.
Apply inner_mapping(const Prepare& p, const Node& node, int64_t version) {
  const octet::train::TorchOp* op = octet::train::find_mapping("", node.op_type);
  return op == nullptr || op->prepare == nullptr ? Apply() : op->prepare({p.graph, node, version});
}

at::Tensor applied(const Apply& apply, const Call& outer, std::vector<at::Tensor> inputs) {
  std::vector<int> from;
  for (size_t i = 0; i < inputs.size(); ++i)
    from.push_back(inputs[i].defined() ? static_cast<int>(i) : -1);
  const std::vector<int> to{static_cast<int>(inputs.size())};
  inputs.emplace_back();
  Call inner(inputs, from, to, outer.node(), outer.run());
  apply(inner);
  return inputs.back();
}

/// f of FusedConv and FusedGemm; empty where `found` is false or there is none.
Apply activation_mapping(const Prepare& p, bool& found) {
  const auto f = octet::ms::fused_activation(p.node);
  TORCH_CHECK(f.ok(), f.error().text());
  found = f->op.empty();
  if (found) return {};
  Node node;
  node.op_type = f->op;
  node.inputs = {p.node.inputs[0]};
  node.outputs = {p.node.outputs[0]};
  for (const auto& [name, value] : f->parameters)
    node.set(name, value);
  // Bounds of Clip are attributes in its old form.
  Apply apply = inner_mapping(p, node, f->op == "Clip" ? 6 : 13);
  found = static_cast<bool>(apply);
  return apply;
}

Apply fused_product(const Prepare& p, const char* product, int64_t version) {
  const Apply multiply = inner_mapping(p, octet::ms::product_of(p.node, product), version);
  bool found = false;
  const Apply activate = activation_mapping(p, found);
  if (!multiply || !found) return {};
  return [=](Call& c) {
    std::vector<at::Tensor> inputs;
    for (size_t i = 0; i < std::min<size_t>(c.inputs(), 3); ++i)
      inputs.push_back(c.has(i) ? c.in(i) : at::Tensor());
    at::Tensor y = applied(multiply, c, inputs);
    if (c.has(3)) y = y + c.in(3);
    c.out(activate ? applied(activate, c, {y}) : y);
  };
}

/// An operand of FusedMatMul in the order of MatMul: [k, b..., m] with transBatch stands for
/// [b..., k, m], then trans swaps the last two axes.
at::Tensor in_order(const at::Tensor& x, bool batch, bool swap) {
  if (x.dim() < 2) return x;
  at::Tensor y = batch ? x.movedim(0, -2) : x;
  return swap ? y.transpose(-1, -2) : y;
}

} // namespace

OCTET_TORCH(ms, FusedConv) {
  return fused_product(p, "Conv", 11);
}

OCTET_TORCH(ms, FusedGemm) {
  return fused_product(p, "Gemm", 13);
}

OCTET_TORCH(ms, FusedMatMul) {
  const bool swap_a = p.node.attr_int("transA", 0) != 0;
  const bool swap_b = p.node.attr_int("transB", 0) != 0;
  const bool batch_a = p.node.attr_int("transBatchA", 0) != 0;
  const bool batch_b = p.node.attr_int("transBatchB", 0) != 0;
  const double alpha = p.node.attr_float("alpha", 1.0F);
  return [=](Call& c) {
    const at::Tensor y =
        at::matmul(in_order(c.in(0), batch_a, swap_a), in_order(c.in(1), batch_b, swap_b));
    c.out(alpha == 1 ? y : y * alpha);
  };
}
