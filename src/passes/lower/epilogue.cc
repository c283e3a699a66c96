// SPDX-License-Identifier: Apache-2.0
// What follows a product and is computed with it.
//
//   product ─ [Add residual] ─ [Relu | Clip ...] ─ Q ...   becomes one operator that writes codes
//   product ─ [Relu | Clip ...] ─ anything else            becomes one that writes float
//
// Clamping before quantization equals clamping codes, since quantization is monotone.
#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/label.h"
#include "ops/qdq/clamp.h"
#include "passes/lower/context.h"

namespace octet::lowering {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

} // namespace

void Context::residual_step(Epilogue& e) {
  const NodeId next = uses_.single_consumer(e.end);
  if (!next.valid() || done(next)) return;
  const Node& add = in_.node(next);
  if (!add.is("Add") || add.inputs.size() != 2) return;
  const ValueId other = add.inputs[0] == e.end ? add.inputs[1] : add.inputs[0];
  if (other == e.end || !sources_[static_cast<size_t>(other.index)].codes) return;
  // Equal shapes only: a broadcast residual is left to Add.
  const auto& a = in_.value(e.end).type.shape;
  const auto& b = in_.value(other).type.shape;
  if (!a || !b || a->size() != b->size() || !std::equal(a->begin(), a->end(), b->begin())) return;
  e.residual = other;
  e.end = add.outputs[0];
  e.absorbed.push_back(next);
}

void Context::clamp_step(Epilogue& e) {
  const NodeId next = uses_.single_consumer(e.end);
  if (!next.valid() || done(next)) return;
  const Node& node = in_.node(next);
  const auto bounds = qdq::clamp_of(in_, node);
  if (!bounds || !(bounds->lo <= bounds->hi)) return;
  e.min = std::clamp(e.min, static_cast<float>(bounds->lo), static_cast<float>(bounds->hi));
  e.max = std::clamp(e.max, static_cast<float>(bounds->lo), static_cast<float>(bounds->hi));
  e.end = node.outputs[0];
  e.absorbed.push_back(next);
  clamp_step(e); // what clamps come to, one behind the other
}

void Context::quantize_step(Epilogue& e) {
  if (in_.is_output(e.end)) {
    e.why_float = "its result is an output of the model";
    return;
  }
  std::optional<qdq::Grid> shared;
  std::vector<NodeId> quantizers;
  for (const Uses::Use& use : uses_.of(e.end)) {
    const Node& node = in_.node(use.node);
    const bool quantizes = is_quantize(node) && use.input == 0;
    const auto q = quantizes ? per_tensor(node) : std::nullopt;
    if (!q) {
      e.why_float = label(in_, node) + " reads its result in float";
      return;
    }
    if (shared && !qdq::same(*shared, *q, qdq::Same::kNumbers)) {
      e.why_float = "its consumers quantize it with different scales";
      return;
    }
    shared = q;
    quantizers.push_back(use.node);
  }
  if (!shared) return;
  e.to = shared->codes;
  e.quant = *shared;
  e.quantizers = std::move(quantizers);
}

Epilogue Context::epilogue(ValueId product, bool allow_residual) {
  Epilogue e;
  e.min = -kInfinity;
  e.max = kInfinity;
  e.end = product;
  Epilogue plain = e;
  if (allow_residual) residual_step(e);
  clamp_step(e);
  quantize_step(e);
  if (e.to != DType::kFloat32 || !e.residual) return e;
  // A residual is fused only where codes come out.
  clamp_step(plain);
  quantize_step(plain);
  return plain;
}

void Context::set_attributes(Node& node, const Epilogue& e) const {
  node.set("to", static_cast<int64_t>(e.to));
  if (e.to == DType::kFloat32) {
    if (e.min > -kInfinity) node.set("min", e.min);
    if (e.max < kInfinity) node.set("max", e.max);
    return;
  }
  const CodeRange range = *code_range(e.to);
  node.set("y_zero_point", e.quant.one_zero());
  node.set("lo", e.min > -kInfinity ? qdq::code_of(e.quant, e.min) : int64_t{range.lo});
  node.set("hi", e.max < kInfinity ? qdq::code_of(e.quant, e.max) : int64_t{range.hi});
  if (!e.residual) return;
  const qdq::Grid& r = sources_[static_cast<size_t>(e.residual->index)].quant;
  node.set("residual_zero_point", r.one_zero());
  node.set("residual_ratio", static_cast<float>(static_cast<double>(r.one_scale()) /
                                                static_cast<double>(e.quant.one_scale())));
}

void Context::finish(const Node& node, const Epilogue& e, Form result, ValueId product) {
  const Node& made = out_.node(out_.value(product.valid() ? product : result.id).producer);
  note(node, computes_with_codes(made) ? LowerForm::kIntegers : LowerForm::kFloat, made.op_type,
       e.to == DType::kFloat32 ? e.why_float : "");
  settle(node, e, result);
}

void Context::settle(const Node& node, const Epilogue& e, Form result) {
  for (const NodeId id : e.absorbed) {
    mark_done(id);
    note_fused(in_.node(id), node);
  }
  if (e.to == DType::kFloat32) {
    source(e.end).real = result;
    return;
  }
  for (const NodeId id : e.quantizers) {
    mark_done(id);
    note_fused(in_.node(id), node);
    source(in_.node(id).outputs[0]).real = result;
  }
}

} // namespace octet::lowering
