// SPDX-License-Identifier: Apache-2.0
// The walk: each node of the source in order is fused, lowered by the first that takes it, or kept.
#include "passes/lower/lower.h"

#include <algorithm>
#include <array>

#include "core/format.h"
#include "graph/domains.h"
#include "graph/verify.h"
#include "ops/infer.h"
#include "passes/lower/chains.h"
#include "passes/lower/context.h"
#include "passes/lower/fuse_attention.h"
#include "passes/lower/fuse_codes.h"
#include "passes/lower/fuse_maps.h"
#include "passes/lower/fused.h"
#include "passes/standardize/coded_operators.h"
#include "passes/standardize/standard_operators.h"

namespace octet {
namespace lowering {
namespace {

using LowerFn = Result<bool>(Context&, const Node&);
constexpr LowerFn* kLowerings[] = {lower_conv,          lower_conv_integer, lower_matmul_integer,
                                   lower_gemm,          lower_pool,         lower_table,
                                   lower_byte_function, lower_add,          lower_reshape,
                                   lower_joint,         lower_reduction,    lower_movement,
                                   lower_normalization, lower_recurrent,    lower_elementwise,
                                   lower_resize,        lower_unary};

/// Q whose operands are all constant: it waits until someone asks for its codes.
bool quantizes_constant(const Context& c, const Node& node) {
  return node.is("QuantizeLinear") &&
         std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId in) { return !in.valid() || c.in().constant(in) != nullptr; });
}

/// Q on a tensor: passes codes through when they are the same, a table when they are others.
bool lower_quantize(Context& c, const Node& node) {
  if (quantizes_constant(c, node)) {
    c.note(node, LowerForm::kCodes, "constant");
    return true;
  }
  const auto q = is_quantize(node) ? c.per_tensor(node) : std::nullopt;
  if (!q || c.in().value(node.input(0)).type.type != DType::kFloat32) return false;
  const ValueId x = node.input(0), y = node.outputs[0];
  Node made;
  made.domain = kNative;
  made.name = node.name;
  made.origin = {node.name};
  if (const auto codes = c.codes(x)) {
    const qdq::Grid from = c.source(x).quant;
    if (qdq::same(from, *q, qdq::Same::kNumbers)) {
      c.source(y).real = *codes;
      c.note(node, LowerForm::kCodes, "nothing: the codes are the same");
      return true;
    }
    made.op_type = "QTable";
    made.inputs = {codes->id, c.out().add_constant(node.name + "/table", rescale_table(from, *q))};
    c.note(node, LowerForm::kIntegers, "QTable");
    c.source(y).real = codes->ordered(c.emit(std::move(made), c.in().value(y).name));
    return true;
  }
  const Form from = c.real(x);
  made.op_type = "Quantize";
  made.inputs = {from.id};
  made.set("scale", q->one_scale());
  made.set("zero_point", q->one_zero());
  made.set("to", static_cast<int64_t>(q->codes));
  c.note(node, LowerForm::kCodes, "Quantize");
  c.source(y).real = from.ordered(c.emit(std::move(made), c.in().value(y).name));
  return true;
}

/// DQ leaves codes to whoever can use them. DQ of constants waits until someone asks.
bool lower_dequantize(Context& c, const Node& node) {
  if (!node.is("DequantizeLinear")) return false;
  if (c.is_constant(node.outputs[0])) {
    c.note(node, LowerForm::kCodes, "constant");
    return true;
  }
  const auto q = c.per_tensor(node);
  if (!q || c.in().value(node.outputs[0]).type.type != DType::kFloat32) return false;
  c.set_codes(node.outputs[0], c.real(node.input(0)), *q);
  if (c.integer()) {
    c.note(node, LowerForm::kCodes, "codes");
    return true;
  }
  c.real(node.outputs[0]); // is written before anyone takes the codes
  c.source(node.outputs[0]).codes.reset();
  c.note(node, LowerForm::kCodes, "Dequantize");
  return true;
}

/// What turns weights that constants dequantize to waits as they do: products take them as codes.
bool lower_stored_transpose(Context& c, const Node& node) {
  if (!node.is("Transpose") || !node.input(0).valid()) return false;
  const Node* from = c.in().producer(node.input(0));
  if (from == nullptr || !from->is("DequantizeLinear") || !c.is_constant(node.input(0)))
    return false;
  c.note(node, LowerForm::kCodes, "constant");
  return true;
}

void keep(Context& c, const Node& node) {
  Node made = node;
  for (ValueId& id : made.inputs)
    if (id.valid()) id = c.plain(id).id;
  lower_bodies(c, node, made);
  for (ValueId& id : made.outputs) {
    if (!id.valid()) continue;
    const Value& v = c.in().value(id);
    const ValueId fresh = c.out().add_value(v.name, v.type);
    c.source(id).real = Form{fresh};
    id = fresh;
  }
  made.origin = {node.name};
  c.out().add_node(std::move(made));
  c.note(node, LowerForm::kKept, node.op_type, "octet has no native form of it");
}

Status lower_node(Context& c, const Node& node) {
  if (lower_dequantize(c, node) || lower_stored_transpose(c, node) || lower_quantize(c, node))
    return ok_status();
  for (LowerFn* lowering : kLowerings)
    if (OCTET_TRY(lowering(c, node))) return ok_status();
  keep(c, node);
  return ok_status();
}

/// What an output needs to be in the source's order comes right behind it: an executor that hands
/// outputs over would keep all of them to the end otherwise.
void emit_outputs(Context& c, const Node& node, const std::vector<bool>& is_output) {
  for (const ValueId id : node.outputs) {
    if (!id.valid() || !is_output[static_cast<size_t>(id.index)]) continue;
    const Source& made = c.source(id);
    if (made.real || made.codes) c.plain(id);
  }
}

/// Outputs in the source's order, under the source's names.
void finish_outputs(Context& c) {
  std::vector<ValueId> outputs;
  for (const ValueId id : c.in().outputs()) {
    const std::string& name = c.in().value(id).name;
    ValueId made = c.plain(id).id;
    const Value& v = c.out().value(made);
    bool taken = v.kind != ValueKind::kNodeOutput;
    for (const ValueId other : outputs)
      taken = taken || other == made;
    if (taken) made = c.out().emit("Identity", {made}, {}, name + "/output");
    if (const auto holder = c.out().find_value(name); holder && *holder != made)
      c.out().rename(*holder, name + "/before");
    c.out().rename(made, name);
    outputs.push_back(made);
  }
  c.out().set_outputs(outputs);
}

/// Whether the sums of a product go to an Add of what DQ makes and nowhere else.
bool is_summed(const Graph& graph, const Uses& uses, const Node& node) {
  if (!node.is("Conv") && !node.is("Gemm") && !node.is("MatMul")) return false;
  const NodeId next = uses.single_consumer(node.output(0));
  if (!next.valid() || !graph.node(next).is("Add")) return false;
  const Node& add = graph.node(next);
  const ValueId other = add.input(add.input(0) == node.output(0) ? 1 : 0);
  const Node* maker = other.valid() ? graph.producer(other) : nullptr;
  return maker != nullptr && is_dequantize(*maker);
}

/// The nodes in an order in which the codes that a product adds to its sums are there before it: it
/// comes right before the Add.
Result<std::vector<NodeId>> lowering_order(const Graph& graph) {
  const Uses uses(graph);
  const std::vector<NodeId> all = OCTET_TRY(graph.topological());
  std::vector<NodeId> out;
  out.reserve(all.size());
  for (const NodeId id : all) {
    const Node& node = graph.node(id);
    if (is_summed(graph, uses, node)) continue;
    for (const ValueId in : node.is("Add") ? node.inputs : std::vector<ValueId>{}) {
      const Node* maker = in.valid() ? graph.producer(in) : nullptr;
      if (maker != nullptr && is_summed(graph, uses, *maker)) out.push_back(maker->id);
    }
    out.push_back(id);
  }
  return out;
}

/// Rules of chains.h. Quantizers stay where they are when nothing may compute with codes.
std::vector<Rule> chain_rules(bool integer) {
  std::vector<Rule> rules = {{"decompose_batch_norm", decompose_batch_norm},
                             {"decompose_einsum", decompose_einsum},
                             {"decompose_hardmax", decompose_hardmax},
                             {"decompose_log_softmax", decompose_log_softmax},
                             {"decompose_lp_normalization", decompose_lp_normalization},
                             {"decompose_lrn", decompose_lrn},
                             {"decompose_mean_variance", decompose_mean_variance},
                             {"decompose_scaler", decompose_scaler},
                             {"flatten_layer_norm", flatten_layer_norm},
                             {"fuse_gelu", fuse_gelu},
                             {"fuse_group_norm", fuse_group_norm},
                             {"fuse_layer_norm", fuse_layer_norm},
                             {"multiply_matrices", multiply_matrices},
                             {"order_depth", order_depth},
                             {"split_gemm", split_gemm},
                             {"lines_to_images", lines_to_images},
                             {"sink_squeeze", sink_squeeze},
                             {"cancel_height", cancel_height},
                             {"volume_conv_to_images", volume_conv_to_images},
                             {"volume_conv_transpose", volume_conv_transpose},
                             {"volume_pool_to_images", volume_pool_to_images}};
  if (integer) {
    rules.push_back({"clip_before_quantizing", clip_before_quantizing});
    rules.push_back({"clip_by_number", clip_by_number});
    rules.push_back({"widen_few_bits", widen_few_bits});
    rules.push_back({"fake_quantize", fake_quantize});
    rules.push_back({"quantize_unrounded", quantize_unrounded});
    rules.push_back({"divide_by_scales", divide_by_scales});
    rules.push_back({"scale_depthwise_weights", scale_depthwise_weights});
    rules.push_back({"scale_coded_product", scale_coded_product});
    rules.push_back({"dequantize_by_arithmetic", dequantize_by_arithmetic});
    rules.push_back({"decompose_dynamic_lstm", decompose_dynamic_lstm});
    rules.push_back({"fuse_scaled_product", fuse_scaled_product});
    rules.push_back({"scale_float_product", scale_float_product});
    rules.push_back({"sum_inputs_of_codes", sum_inputs_of_codes});
    rules.push_back({"turn_stored", turn_stored});
    rules.push_back({"quantize_before_joining", quantize_before_joining});
    rules.push_back({"quantize_before_moving", quantize_before_moving});
    rules.push_back({"quantize_before_pooling", quantize_before_pooling});
    rules.push_back({"resize_bytes", resize_bytes});
    rules.push_back({"scale_by_quantizing", scale_by_quantizing});
  }
  return rules;
}

/// What branches, bodies or data leave without a rank has that of the weights that it is convolved
/// with.
void take_ranks_from_weights(Graph& graph) {
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (!node.is("Conv") && !node.is("ConvTranspose")) continue;
    const TypeInfo& x = graph.value(node.input(0)).type;
    const TypeInfo& w = graph.value(node.input(1)).type;
    if (x.has_rank() || !w.has_rank()) continue;
    const std::vector<Dim> open(static_cast<size_t>(w.rank()), Dim::unknown());
    graph.set_type(node.input(0), {x.type, open, x.opaque});
  }
}

/// Changes no bit.
Status fuse(Lowered& lowered) {
  constexpr Rule kAroundRows[] = {{"fuse_norm", fuse_norm}};
  constexpr Rule kBehindProducts[] = {{"fuse_function", fuse_function},
                                      {"map_before_joining", map_before_joining}};
  OCTET_TRY(fuse_by(kAroundRows, lowered.graph, lowered.notes));
  OCTET_TRY(fuse_maps(lowered.graph, lowered.notes));
  OCTET_TRY(fuse_attention(lowered.graph, lowered.notes));
  OCTET_TRY(fuse_by(kBehindProducts, lowered.graph, lowered.notes));
  return fuse_codes(lowered.graph, lowered.notes);
}

} // namespace
} // namespace lowering

bool computes_with_codes(const Node& node) {
  return node.domain == kNative && facts_of(node).on_codes;
}

Status to_standard_operators(Graph& graph, bool integer) {
  std::vector<Rule> rules;
  if (integer) {
    rules = coded_operator_rules();
    rules.push_back({"decompose_integer_attention", decompose_integer_attention});
  }
  rules.push_back({"standard_qdq", [](const RuleContext& c, const Node& node) {
                     return standard_qdq(c.graph, node);
                   }});
  rules.push_back({"decompose_quant_to_codes", decompose_quant_to_codes});
  rules.push_back({"store_matmul_nbits", lowering::store_matmul_nbits}); // before it becomes floats
  for (const Rule& rule : standard_operator_rules())
    rules.push_back(rule);
  rules.push_back({"decompose_onnx_attention", decompose_onnx_attention});
  rules.push_back({"decompose_rms_norm", decompose_rms_norm});
  rules.push_back({"decompose_rotary_embedding", decompose_standard_rotary_embedding});
  OCTET_TRY(rewrite(graph, rules));
  compute_half_in_float(graph);
  return ok_status();
}

Result<Lowered> lower(const Graph& graph, const LowerOptions& options) {
  Graph source = graph;
  OCTET_TRY_WITH(verify(source), "lower");
  OCTET_TRY_WITH(infer_types(source), "lower");
  lowering::take_ranks_from_weights(source);
  OCTET_TRY_WITH(to_standard_operators(source, options.integer), "lower");
  OCTET_TRY_WITH(rewrite(source, lowering::chain_rules(options.integer)), "lower");
  std::vector<bool> is_output(static_cast<size_t>(source.value_bound()), false);
  for (const ValueId id : source.outputs())
    is_output[static_cast<size_t>(id.index)] = true;
  lowering::Context c(source, options.integer);
  for (const NodeId id : OCTET_TRY(lowering::lowering_order(source))) {
    if (!c.done(id)) OCTET_TRY_WITH(lowering::lower_node(c, source.node(id)), "lower");
    lowering::emit_outputs(c, source.node(id), is_output);
  }
  lowering::finish_outputs(c);
  c.out().remove_dead();
  OCTET_TRY_WITH(verify(c.out()), "the lowered graph");
  OCTET_TRY_WITH(infer_types(c.out()), "the lowered graph");
  Lowered lowered{std::move(c.out()), c.take_notes()};
  if (options.fuse) OCTET_TRY_WITH(lowering::fuse(lowered), "lower");
  return lowered;
}

} // namespace octet
