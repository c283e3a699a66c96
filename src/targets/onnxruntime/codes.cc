// SPDX-License-Identifier: Apache-2.0
#include "targets/onnxruntime/codes.h"

#include <algorithm>
#include <limits>

#include "ops/qdq/clamp.h"
#include "targets/checks.h"

namespace octet {

namespace {

constexpr int kMostMoves = 16;

bool can_be_folded(const Node& node) {
  constexpr std::string_view kDrawn[] = {"RandomNormal",      "RandomNormalLike", "RandomUniform",
                                         "RandomUniformLike", "Bernoulli",        "Multinomial"};
  if (std::find(std::begin(kDrawn), std::end(kDrawn), node.op_type) != std::end(kDrawn))
    return false;
  return !is_dequantize(node) && node.captures.empty() && !node.inputs.empty();
}

} // namespace

bool onnxruntime_moves_codes_past(const Node& node) {
  constexpr std::string_view kOps[] = {"MaxPool", "Transpose", "Reshape",
                                       "Squeeze", "Unsqueeze", "Slice"};
  return node.domain.empty() && node.outputs.size() == 1 &&
         std::find(std::begin(kOps), std::end(kOps), node.op_type) != std::end(kOps);
}

bool onnxruntime_drops_codes_around(const Node& node) {
  constexpr std::string_view kOps[] = {"Flatten", "Gather",    "GatherElements",
                                       "Expand",  "Tile",      "DepthToSpace",
                                       "Split",   "ReduceMax", "ReduceMin"};
  if (node.is("Resize")) return node.attr_string("mode", "nearest") == "nearest";
  return node.domain.empty() &&
         std::find(std::begin(kOps), std::end(kOps), node.op_type) != std::end(kOps);
}

bool onnxruntime_takes_for_bytes(DType type) {
  switch (type) {
  case DType::kFloat8E4M3FN:
  case DType::kFloat8E4M3FNUZ:
  case DType::kFloat8E5M2:
  case DType::kFloat8E5M2FNUZ:
  case DType::kInt2:
  case DType::kUint2:
    return true;
  default:
    return false;
  }
}

bool onnxruntime_strips_codes(const Node& node, DType type) {
  if (is_byte(type) || onnxruntime_takes_for_bytes(type)) return true;
  const bool orders = node.is("MaxPool") || node.is("ReduceMax") || node.is("ReduceMin");
  if (type == DType::kInt4 || type == DType::kUint4) return orders;
  if (node.is("ArgMax")) return type == DType::kInt32;
  return !orders && !node.is("Resize") && !node.is("DepthToSpace");
}

bool onnxruntime_reaches_readers(const Graph& graph, const Uses& uses, ValueId moved) {
  const auto readers = uses.of(moved);
  return std::none_of(readers.begin(), readers.end(),
                      [&](const Uses::Use& use) { return is_quantize(graph.node(use.node)); });
}

bool onnxruntime_moves_constants_past(const Node& node) {
  return node.is("Transpose");
}

bool has_scales_along(const Graph& graph, ValueId value, int64_t axis) {
  if (!value.valid()) return false;
  const TypeInfo& type = graph.value(value).type;
  const int64_t rank = type.has_rank() ? static_cast<int64_t>(type.rank()) : 0;
  const Node* maker = graph.producer(value);
  for (int hops = 0; maker != nullptr && maker->is("Transpose") && hops < kMostMoves; ++hops) {
    const std::vector<int64_t> perm = maker->attr_ints("perm");
    if (axis < 0 || axis >= rank || (!perm.empty() && static_cast<int64_t>(perm.size()) != rank))
      return false;
    axis = perm.empty() ? rank - 1 - axis : perm[static_cast<size_t>(axis)];
    maker = graph.producer(maker->input(0));
  }
  if (maker == nullptr || !is_dequantize(*maker)) return false;
  const qdq::Written dq = qdq::written(graph, *maker);
  return dq.block == 0 && (dq.axis < 0 ? dq.axis + rank : dq.axis) == axis;
}

OnnxRuntimeCodes::OnnxRuntimeCodes(const Graph& graph) : graph_(graph), uses_(graph) {
  const auto order = graph.topological();
  if (!order.ok()) return;
  for (const NodeId id : *order) {
    const Node& node = graph.node(id);
    const bool folds = node.is("Constant") ||
                       (can_be_folded(node) &&
                        std::all_of(node.inputs.begin(), node.inputs.end(),
                                    [&](ValueId in) { return !in.valid() || is_folded(in); }));
    if (folds) folded_.insert(node.outputs.begin(), node.outputs.end());
  }
}

bool OnnxRuntimeCodes::is_folded(ValueId value) const {
  return graph_.constant(value) != nullptr || folded_.count(value) != 0;
}

const Node* OnnxRuntimeCodes::only_reader(ValueId value) const {
  const NodeId next = uses_.single_consumer(value);
  return next.valid() ? &graph_.node(next) : nullptr;
}

bool OnnxRuntimeCodes::has_scalar_zero(const Node& dequantize) const {
  const qdq::Written dq = qdq::written(graph_, dequantize);
  if (!dq.zero.valid()) return true;
  return dq.zeros != nullptr && dq.zeros->type() == DType::kInt8 && dq.zeros->count() == 1;
}

OnnxRuntimeCodes::Codes OnnxRuntimeCodes::behind_operator(Codes codes, const Node& between) {
  codes.kept = KeptInt8::kBehindOperator;
  codes.between = &between;
  return codes;
}

OnnxRuntimeCodes::Codes OnnxRuntimeCodes::of_quantize(const Node& quantize) const {
  const qdq::Written q = qdq::written(graph_, quantize);
  Codes out{true, q.codes_type};
  if (out.type != DType::kInt8) return out;
  const Node* reader = only_reader(q.codes);
  if (reader != nullptr && !is_dequantize(*reader)) return behind_operator(out, *reader);
  const bool scalar_zero = q.zeros != nullptr && q.zeros->count() == 1;
  const bool own = reader != nullptr && has_scalar_zero(*reader) && scalar_zero &&
                   uses_.count(reader->output(0)) <= 1;
  if (own)
    out.type = DType::kUint8;
  else
    out.kept = scalar_zero ? KeptInt8::kSeveralReaders : KeptInt8::kNoScalarZero;
  return out;
}

bool OnnxRuntimeCodes::has_one_scale(const Node& node) const {
  const Tensor* scale = qdq::written(graph_, node).scales;
  return scale != nullptr && scale->count() == 1;
}

bool OnnxRuntimeCodes::has_zero_point(const Node& node) const {
  const qdq::Written said = qdq::written(graph_, node);
  if (said.zero.valid()) return true;
  const Node* quantize = is_dequantize(node) ? graph_.producer(said.codes) : nullptr;
  return said.codes_type == DType::kInt8 && quantize != nullptr && is_quantize(*quantize) &&
         of_quantize(*quantize).type == DType::kUint8;
}

bool OnnxRuntimeCodes::have_one_scale(const Node& dequantize, const Node& quantize) const {
  const qdq::Written a = qdq::written(graph_, dequantize), b = qdq::written(graph_, quantize);
  // A scalar and a tensor of one element are one.
  const auto same = [](const Tensor* x, const Tensor* y) {
    return x != nullptr && y != nullptr && x->type() == y->type() && x->count() == 1 &&
           y->count() == 1 && x->at(0) == y->at(0);
  };
  if (!same(a.scales, b.scales)) return false;
  if (!a.zero.valid() && has_zero_point(dequantize)) // it is 0
    return b.zeros != nullptr && b.codes_type == a.codes_type && b.zeros->count() == 1 &&
           b.zeros->at(0) == 0;
  if (!a.zero.valid() && !b.zero.valid()) return true;
  return same(a.zeros, b.zeros);
}

OnnxRuntimeCodes::Codes OnnxRuntimeCodes::of_input(ValueId value) const {
  const Node* dq = graph_.producer(value);
  bool moved = false, turned = true;
  const bool shared = uses_.count(value) > 1;
  for (int hops = 0; dq != nullptr && onnxruntime_moves_codes_past(*dq) && hops < kMostMoves;
       ++hops) {
    if (!onnxruntime_reaches_readers(graph_, uses_, value)) return {};
    moved = true;
    turned = turned && onnxruntime_moves_constants_past(*dq);
    value = dq->input(0);
    dq = graph_.producer(value);
  }
  if (dq == nullptr || !is_dequantize(*dq) || (!turned && is_folded(dq->input(0)))) return {};
  Codes out{true, graph_.value(dq->input(0)).type.type, KeptInt8::kNo, nullptr, dq};
  if (out.type != DType::kInt8) return out;
  if (is_folded(dq->input(0))) {
    out.kept = KeptInt8::kStored;
    return out;
  }
  if (moved && has_scalar_zero(*dq)) {
    if (!shared) return behind_move(out);
    out.kept = KeptInt8::kSeveralReaders;
    return out;
  }
  const Node* before = graph_.producer(dq->input(0));
  if (before != nullptr && is_quantize(*before)) {
    out = of_quantize(*before);
    out.dequantize = dq;
    return out;
  }
  if (before != nullptr) return behind_operator(out, *before);
  out.kept = KeptInt8::kNoQuantize;
  return out;
}

OnnxRuntimeCodes::Codes OnnxRuntimeCodes::behind_move(Codes codes) const {
  if (codes.type != DType::kInt8 || codes.kept == KeptInt8::kStored ||
      !has_scalar_zero(*codes.dequantize))
    return codes;
  codes.type = DType::kUint8;
  codes.kept = KeptInt8::kNo;
  codes.between = nullptr;
  return codes;
}

bool OnnxRuntimeCodes::is_stored(ValueId value) const {
  const Node* dq = of_input(value).dequantize;
  return dq != nullptr && is_folded(dq->input(0));
}

bool OnnxRuntimeCodes::absorbs(const Node& quantize, const Node& clamp) const {
  const Tensor* zero = qdq::written(graph_, quantize).zeros;
  const Tensor* scale = qdq::written(graph_, quantize).scales;
  if (scale == nullptr || scale->count() != 1 || zero == nullptr) return false;
  const DType type = zero->type();
  const auto range = code_range(type);
  if (!range || zero->count() != 1) return false;
  const auto z = static_cast<float>(zero->at(0));
  const auto lowest = static_cast<float>(range->lo), highest = static_cast<float>(range->hi);
  if (clamp.is("Relu")) return z == lowest;
  if (!is_byte(type) && type != DType::kInt16 && type != DType::kUint16) return false;
  const auto bounds = qdq::clamp_of(graph_, clamp);
  if (!bounds) return false;
  // It compares floats, and takes this much for equal.
  constexpr float kSlack = std::numeric_limits<float>::epsilon();
  const auto s = static_cast<float>(scale->at(0));
  const auto lo = static_cast<float>(bounds->lo), hi = static_cast<float>(bounds->hi);
  return lo - (lowest - z) * s <= kSlack && (highest - z) * s - hi <= kSlack;
}

const Node* OnnxRuntimeCodes::quantize_behind(ValueId value, bool& moved) const {
  const Node* next = only_reader(value);
  for (int hops = 0; next != nullptr && onnxruntime_moves_codes_past(*next) && hops < kMostMoves;
       ++hops) {
    moved = true;
    next = only_reader(next->output(0));
  }
  return next;
}

const Node* OnnxRuntimeCodes::quantize_of(ValueId value) const {
  bool moved = false;
  const Node* next = quantize_behind(value, moved);
  return next != nullptr && is_quantize(*next) ? next : nullptr;
}

bool OnnxRuntimeCodes::is_absorbed(const Node& clamp) const {
  if (!clamp.is("Relu") && !clamp.is("Clip")) return false;
  bool moved = false;
  const Node* after = quantize_behind(clamp.output(0), moved);
  return after != nullptr && is_quantize(*after) && absorbs(*after, clamp);
}

OnnxRuntimeCodes::Output OnnxRuntimeCodes::output_of(const Node& node) const {
  bool moved = false;
  const Node* next = quantize_behind(node.output(0), moved);
  if (next == nullptr) return {};
  if (is_quantize(*next)) return {next, nullptr, moved};
  if (moved || !is_absorbed(*next)) return {};
  const Node* quantize = quantize_behind(next->output(0), moved);
  return {quantize, next, moved};
}

OnnxRuntimeCodes::Codes OnnxRuntimeCodes::of_output(const Output& y) const {
  Codes out = of_quantize(*y.quantize);
  const Tensor* zeros = qdq::written(graph_, *y.quantize).zeros;
  if (!y.moved || out.type != DType::kInt8 || zeros == nullptr || zeros->count() != 1) return out;
  return {.present = true, .type = DType::kUint8};
}

} // namespace octet
