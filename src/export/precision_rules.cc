// SPDX-License-Identifier: Apache-2.0
// Sources: ONNX's type constraints (by octet's own inference), IEEE 754 binary16 and bfloat16, and
// for sums of squares the overflow that TensorRT warns of ("LayerNorm after self-attention in FP16
// may cause overflow"; docs/targets.md 2.4), and what ONNX Runtime's kernels reduce.
#include "export/precision_rules.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/format.h"
#include "graph/bodies.h"
#include "ops/infer.h"
#include "ops/microsoft/matrix_order.h"
#include "ops/op.h"
#include "ops/qdq/site.h"
#include "ops/schema_types.h"
#include "passes/standardize/coded_operators.h"
#include "targets/onnxruntime/kernels.h"

namespace octet {

namespace {

/// They square, or sum without a bound: above 256 a square passes 65504.
constexpr std::array<std::string_view, 10> kSquares = {"Pow",
                                                       "ReduceSumSquare",
                                                       "ReduceL2",
                                                       "ReduceLogSumExp",
                                                       "ReduceProd",
                                                       "CumSum",
                                                       "MeanVarianceNormalization",
                                                       "LpNormalization",
                                                       "Exp",
                                                       "LRN"};
/// The type is an attribute, or the numbers are positions rather than data.
constexpr std::array<std::string_view, 10> kOwnType = {
    "RandomNormal", "RandomUniform",     "RandomNormalLike", "RandomUniformLike", "EyeLike",
    "Range",        "NonMaxSuppression", "RoiAlign",         "Upsample",          "Multinomial"};

template <size_t N>
bool is_one_of(const std::array<std::string_view, N>& list, const Node& node) {
  return node.domain.empty() && std::find(list.begin(), list.end(), node.op_type) != list.end();
}

bool takes_float_scales(const Node& node) {
  return is_qlinear(node) || ms::is_ordered(node) || facts_of(node).on_codes;
}

/// Whether the operator takes the type and makes it: asked of its own inference, with everything f32
/// replaced. (What a DQ makes of scales that are no f32 is f32.)
std::optional<std::string> refused(const Graph& graph, const Node& node, DType type) {
  Graph alone;
  alone.opsets = graph.opsets;
  Node copy;
  copy.name = node.name;
  copy.domain = node.domain;
  copy.op_type = node.op_type;
  copy.attributes = node.attributes;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId in = node.inputs[i];
    if (!in.valid()) {
      copy.inputs.emplace_back();
      continue;
    }
    TypeInfo info = graph.value(in).type;
    const Tensor* constant = graph.constant(in);
    const bool keeps = node.is("Resize") && i > 0;
    if (info.type == DType::kFloat32 && !keeps) info.type = type;
    if (constant != nullptr && constant->type() == info.type)
      copy.inputs.push_back(alone.add_constant("c", *constant));
    else
      copy.inputs.push_back(alone.add_input(alone.unique_name("x"), info));
  }
  for (size_t k = 0; k < node.outputs.size(); ++k)
    copy.outputs.push_back(node.outputs[k].valid() ? alone.add_value(alone.unique_name("y"))
                                                   : ValueId{});
  for (const char* key : {"to", "dtype", "output_dtype"}) // as they become
    if (copy.attr_int(key, 0) == static_cast<int64_t>(DType::kFloat32))
      copy.set(key, static_cast<int64_t>(type));
  const NodeId id = alone.add_node(std::move(copy));
  const Status status = infer_node(alone, id);
  const auto made = [](const Graph& of, ValueId out) {
    return out.valid() && of.value(out).type.type == DType::kFloat32;
  };
  if (status.ok() && is_dequantize(node) && made(graph, node.output(0)) &&
      made(alone, alone.node(id).output(0)))
    return "it makes f32 of such scales";
  if (status.ok()) return std::nullopt;
  return fmt::format("the operator does not take {}", name(type));
}

std::string shown(const Graph& graph, ValueId id) {
  return '"' + graph.value(id).name + '"';
}

/// What is wrong with a constant in 16 bits; nullopt: nothing, or it may be clamped.
std::optional<std::string>
constant_fault(const Graph& graph, const Node& node, size_t input, DType type) {
  const ValueId id = node.inputs[input];
  const Tensor* tensor = graph.constant(id);
  if (tensor == nullptr || tensor->type() != DType::kFloat32 || tensor->count() == 0)
    return std::nullopt;
  const HalfRange range = half_range(type);
  const bool is_scale =
      input == 1 && (node.op_type == "QuantizeLinear" || node.op_type == "DequantizeLinear");
  bool all_lost = true, any = false;
  double smallest = 0;
  for (int64_t i = 0; i < tensor->count(); ++i) {
    const double v = tensor->at(i);
    if (v == 0 || std::isnan(v)) continue;
    any = true;
    smallest = v;
    if (std::isfinite(v) && std::abs(v) > range.largest && !may_clamp(node, input))
      return fmt::format("{} holds {:.4g}, more than {} holds", shown(graph, id), v, name(type));
    const double error = std::abs(as_half(v, type) - v) / std::abs(v);
    if (is_scale && error > 2 * range.precision)
      return fmt::format("the scale {:.4g} in {} is below what {} holds precisely", v,
                         shown(graph, id), name(type));
    all_lost = all_lost && error > 0.25 && std::abs(v) < 1;
  }
  if (any && all_lost)
    return fmt::format("{} holds {:.4g}, which {} cannot tell from 0", shown(graph, id), smallest,
                       name(type));
  return std::nullopt;
}

/// Whether a position stays one: each element by itself, in another place, or added up. Behind what
/// multiplies and sums numbers are no longer counted.
bool counts_along(const Graph& graph, const Node& node) {
  const OpDef* op = node.domain.empty() ? find_op(node.domain, node.op_type) : nullptr;
  if (op == nullptr || has_bodies(node)) return false;
  if (facts_of(node).broadcasts || motion_of(node).kind != Motion::Kind::kNone) return true;
  if (node.is("CumSum") || node.op_type.starts_with("Reduce")) return true;
  return op->quant.fn(node, input_infos(graph, node)).kind == QuantTrait::Kind::kUnary;
}

} // namespace

int64_t half_since(const Graph& graph, const Node& node, DType type) {
  if (node.is("Resize") && node.inputs.size() > 1) { // its other inputs keep their types
    Node data = node;
    data.inputs.resize(1);
    return half_since(graph, data, type);
  }
  return takes_types_from(graph, node, graph.opset(), {DType::kFloat32, type});
}

HalfRange half_range(DType type) {
  if (type == DType::kBfloat16) return {3.3895313892515355e38, 0x1p-8};
  return {65504, 0x1p-11};
}

double as_half(double value, DType type) {
  const auto tensor = Tensor::from_doubles(type, {}, std::vector<double>{value});
  return tensor.ok() ? tensor->at(0) : value;
}

bool may_clamp(const Node& node, size_t input) {
  constexpr std::array<std::string_view, 9> kMasks = {"Add", "Sub", "Mul", "Where",    "Clip",
                                                      "Min", "Max", "Pad", "ScatterND"};
  if (node.is("Where")) return input > 0;
  return is_one_of(kMasks, node);
}

std::optional<std::string> float_by_operator(const Graph& graph, const Node& node, DType type) {
  if (has_bodies(node)) return "its body stays as it is";
  if (takes_float_scales(node)) return "its scales are f32 by definition";
  if (is_one_of(kOwnType, node)) return "it works on positions, or names its type itself";
  if (!onnxruntime_reduces(node, type))
    return fmt::format("ONNX Runtime has no reduction \"{}\" of {}",
                       node.attr_string("reduction", "none"), name(type));
  const int64_t since = half_since(graph, node, type);
  if (since > graph.opset())
    return fmt::format("{} takes {} from operator set {} on", node.op_type, name(type), since);
  if (since == 0) return fmt::format("the operator does not take {}", name(type));
  if (type == DType::kFloat16 && is_one_of(kSquares, node))
    return "its sums and squares pass 65504 soon";
  return refused(graph, node, type);
}

bool casts_to_integers(const Node& node) {
  const int64_t to = node.attr_int("to", 0);
  return node.is("Cast") && is_valid(static_cast<int32_t>(to)) &&
         is_integer(static_cast<DType>(to));
}

Result<std::set<NodeId>> counting_nodes(const Graph& graph) {
  const Uses uses(graph);
  std::set<NodeId> out;
  const auto is_counted = [&](ValueId value) {
    const auto readers = uses.of(value);
    return uses.count(value) == static_cast<int>(readers.size()) &&
           std::all_of(readers.begin(), readers.end(), [&](const Uses::Use& use) {
             const Node& reader = graph.node(use.node);
             return use.input < reader.inputs.size() &&
                    (casts_to_integers(reader) || out.contains(use.node));
           });
  };
  const std::vector<NodeId> order = OCTET_TRY(graph.topological());
  for (size_t i = order.size(); i-- > 0;) {
    const Node& node = graph.node(order[i]);
    bool is_read = false, counts = counts_along(graph, node);
    for (const ValueId value : node.outputs) {
      if (!value.valid() || !counts) continue;
      is_read = is_read || uses.count(value) > 0;
      counts = graph.value(value).type.type == DType::kFloat32 && is_counted(value);
    }
    if (counts && is_read) out.insert(order[i]);
  }
  return out;
}

std::optional<std::string>
float_by_values(const Graph& graph, const Node& node, const PrecisionOptions& options) {
  for (size_t i = 0; i < node.inputs.size(); ++i)
    if (node.inputs[i].valid())
      if (auto why = constant_fault(graph, node, i, options.type)) return why;
  const double largest = half_range(options.type).largest;
  for (const std::vector<ValueId>* values : {&node.inputs, &node.outputs})
    for (const ValueId id : *values) {
      if (!id.valid() || graph.constant(id) != nullptr) continue;
      const auto seen = options.ranges.find(graph.value(id).name);
      if (seen == options.ranges.end()) continue;
      const double magnitude = std::max(std::abs(seen->second.lo), std::abs(seen->second.hi));
      if (magnitude > largest)
        return fmt::format("{} reached {:.4g} on the data", shown(graph, id), magnitude);
    }
  return std::nullopt;
}

} // namespace octet
