// SPDX-License-Identifier: Apache-2.0
// Products with weights: the one place where QConv, QGemm, Conv, Gemm and CodedGemm are made.
#include "core/format.h"
#include "graph/domains.h"
#include "graph/label.h"
#include "passes/lower/context.h"

namespace octet::lowering {
namespace {

/// Gemm also takes a scalar for its one output.
Tensor as_vector(const Tensor& bias) {
  return bias.reshaped({bias.count()}).value();
}

/// The bias of the operator plus the constant that a following Add brought, as floats.
Result<std::optional<Tensor>> real_bias(Context& c, const Product& p) {
  std::optional<Tensor> bias;
  if (p.bias.valid()) {
    bias = c.constant(p.bias);
    if (!bias || bias->type() != DType::kFloat32)
      return error(ErrorCode::kUnsupported, "node {}: its bias is not a constant of type f32",
                   label(c.in(), p.node));
  }
  if (p.added_bias) return p.added_bias;
  if (bias) bias = as_vector(*bias);
  return bias;
}

/// `made` computes the product and its epilogue, whose result has this name.
void finish_product(
    Context& c, const Product& p, const Epilogue& e, Node made, const std::string& name) {
  if (p.blocks.empty()) {
    c.finish(p.node, e, Form{c.emit(std::move(made), name), p.layout});
    return;
  }
  Node move;
  move.op_type = "DepthToSpace";
  move.domain = kNative;
  move.name = p.node.name + "/blocks";
  move.origin = {p.node.name};
  move.set("blocks", p.blocks);
  const ValueId pixels = c.emit(std::move(made), name + "/pixels");
  move.inputs = {pixels};
  c.finish(p.node, e, Form{c.emit(std::move(move), name), p.layout}, pixels);
}

Result<bool> emit_quantized(Context& c, const Product& p) {
  const qdq::StoredCodes& w = *p.weights;
  const Epilogue e = c.epilogue(p.result, p.blocks.empty());
  Node node;
  node.op_type = p.quantized_op;
  node.domain = kNative;
  node.name = p.node.name;
  node.attributes = p.attributes;
  node.origin = {p.node.name};
  for (const NodeId id : p.absorbed)
    node.origin.push_back(c.in().node(id).name);
  for (const NodeId id : e.absorbed)
    node.origin.push_back(c.in().node(id).name);
  const std::optional<Tensor> int_bias = c.int_bias(p.bias, p.x_quant, w);
  OCTET_TRY(check_accumulator(c.in(), p.node, w.codes, p.x_quant, int_bias));
  std::optional<Tensor> bias;
  if (!int_bias) bias = OCTET_TRY(real_bias(c, p));
  const Scales scales = fold_scales(p.x_quant, w, bias, e);
  const ValueId codes = c.out().add_constant(p.node.name + "/weights", w.codes);
  const ValueId multiplier = c.out().add_constant(p.node.name + "/multiplier", scales.multiplier);
  node.inputs = {p.x.id, codes, multiplier};
  if (int_bias)
    node.inputs.push_back(c.out().add_constant(p.node.name + "/bias", as_vector(*int_bias)));
  else if (scales.bias)
    node.inputs.push_back(c.out().add_constant(p.node.name + "/bias", *scales.bias));
  if (e.residual) {
    node.inputs.resize(4);
    const Form residual = p.layout == Layout::kNhwc ? c.codes_nhwc(*e.residual)
                                                    : c.codes_ordered(*e.residual, p.layout);
    node.inputs.push_back(residual.id);
  }
  node.set("x_zero_point", p.x_quant.one_zero());
  c.set_attributes(node, e);
  const ValueId named = e.quantizers.empty() ? e.end : c.in().node(e.quantizers[0]).outputs[0];
  finish_product(c, p, e, std::move(node), c.in().value(named).name);
  return true;
}

} // namespace

Result<bool> emit_product(Context& c, const Product& p) {
  for (const NodeId id : p.absorbed) {
    c.mark_done(id);
    c.note_fused(c.in().node(id), p.node);
  }
  if (p.weights) return emit_quantized(c, p);
  // A float product keeps its float result; a Q after it stays an operator of its own.
  Epilogue e = c.epilogue(p.result, false);
  if (!e.quantizers.empty()) {
    e.to = DType::kFloat32;
    e.quantizers.clear();
  }
  e.why_float = p.why_float;
  Node node;
  node.op_type = p.float_op;
  node.domain = kNative;
  node.name = p.node.name;
  node.attributes = p.attributes;
  node.origin = {p.node.name};
  const auto constant = [&](const char* part, const Tensor& t) {
    return c.out().add_constant(p.node.name + part, t);
  };
  node.inputs = {p.x.id, p.made_weights.valid()
                             ? p.made_weights
                             : constant("/weights", p.coded ? p.coded->codes : p.real_weights)};
  if (p.coded) {
    node.op_type = "CodedGemm";
    if (p.coded->block != 0) node.set("block", p.coded->block);
    node.inputs.push_back(constant("/scales", p.coded->scales));
    if (!p.coded->zeros.empty()) node.inputs.push_back(constant("/zeros", p.coded->zeros));
  }
  if (const std::optional<Tensor> bias = OCTET_TRY(real_bias(c, p))) {
    if (p.coded) node.inputs.resize(4);
    node.inputs.push_back(constant("/bias", *bias));
  } else if (p.made_bias.valid()) {
    node.inputs.push_back(p.made_bias);
  }
  c.set_attributes(node, e);
  node.attributes.erase("to");
  finish_product(c, p, e, std::move(node), c.in().value(e.end).name);
  return true;
}

} // namespace octet::lowering
