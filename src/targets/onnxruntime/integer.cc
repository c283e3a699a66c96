// SPDX-License-Identifier: Apache-2.0
#include "targets/onnxruntime/integer.h"

#include <algorithm>

#include "graph/domains.h"

namespace octet {

namespace {

constexpr std::string_view kStandard[] = {"QLinearConv", "QLinearMatMul", "ConvInteger",
                                          "MatMulInteger"};
constexpr std::string_view kMicrosoftOps[] = {"QGemm",
                                              "QLinearAdd",
                                              "QLinearMul",
                                              "QLinearAveragePool",
                                              "QLinearGlobalAveragePool",
                                              "QLinearConv",
                                              "QLinearSigmoid",
                                              "QLinearLeakyRelu",
                                              "QLinearSoftmax",
                                              "QLinearConcat",
                                              "QLinearWhere",
                                              "QAttention",
                                              "DynamicQuantizeMatMul",
                                              "DynamicQuantizeLSTM",
                                              "MatMulIntegerToFloat"};

template <size_t N>
bool contains(const std::string_view (&list)[N], std::string_view op) {
  return std::find(std::begin(list), std::end(list), op) != std::end(list);
}

const Node* made_by(const Graph& graph, ValueId value, const char* op) {
  const Node* node = value.valid() ? graph.producer(value) : nullptr;
  return node != nullptr && node->is(op) ? node : nullptr;
}

/// The input of a Mul or Add that is not `known`.
ValueId other_input(const Node& node, ValueId known) {
  return node.input(0) == known ? node.input(1) : node.input(0);
}

} // namespace

bool computes_in_integers(const Node& node) {
  if (node.domain == kMicrosoft) return contains(kMicrosoftOps, node.op_type);
  return node.domain.empty() && contains(kStandard, node.op_type);
}

DynamicProducts::DynamicProducts(const Graph& graph, const OnnxRuntimeCodes& codes)
    : graph_(graph), codes_(codes) {
  for (const NodeId id : graph.nodes())
    if (graph.node(id).is("MatMulInteger")) fuse(graph.node(id));
}

/// Equal nodes are merged before fusion looks: a Mul of scales that another product multiplies
/// alike then has two readers.
bool DynamicProducts::is_merged(const Node& scales) const {
  const auto same = [&](ValueId a, ValueId b) {
    if (a == b) return true;
    const Tensor *x = graph_.constant(a), *y = graph_.constant(b);
    return x != nullptr && y != nullptr && x->identical(*y);
  };
  for (const ValueId in : scales.inputs)
    for (const Uses::Use& use : codes_.uses().of(in)) {
      const Node& other = graph_.node(use.node);
      if (other.id != scales.id && other.is("Mul") && same(other.input(0), scales.input(0)) &&
          same(other.input(1), scales.input(1)))
        return true;
    }
  return false;
}

void DynamicProducts::fuse(const Node& product) {
  const Node* cast = codes_.only_reader(product.output(0));
  if (cast == nullptr || !cast->is("Cast")) return;
  const Node* scaled = codes_.only_reader(cast->output(0));
  if (scaled == nullptr || !scaled->is("Mul")) return;
  const Node* scales = made_by(graph_, other_input(*scaled, cast->output(0)), "Mul");
  if (scales == nullptr || codes_.is_folded(scales->output(0)) || is_merged(*scales) ||
      codes_.only_reader(scales->output(0)) != scaled)
    return;
  std::vector<const Node*> parts = {cast, scaled, scales};
  const Node* add = codes_.only_reader(scaled->output(0));
  if (add != nullptr && add->is("Add")) {
    const Tensor* bias = graph_.constant(other_input(*add, scaled->output(0)));
    const TypeInfo& y = graph_.value(scaled->output(0)).type;
    const auto columns =
        y.has_rank() && y.rank() > 0 ? y.shape->back().maybe_value() : std::nullopt;
    if (bias != nullptr && bias->count() > 1 && (!columns || bias->count() == *columns))
      parts.push_back(add);
  }
  const Node* quantize = made_by(graph_, product.input(0), "DynamicQuantizeLinear");
  const auto only_for = [&](ValueId value, const Node& reader) {
    return value.valid() && codes_.only_reader(value) == &reader;
  };
  const Node* twin = nullptr; // another one on the same tensor is merged with it
  if (quantize != nullptr)
    for (const Uses::Use& use : codes_.uses().of(quantize->input(0)))
      if (const Node& n = graph_.node(use.node);
          n.id != quantize->id && n.op_type == quantize->op_type)
        twin = &n;
  const bool whole =
      quantize != nullptr && twin == nullptr && product.input(2) == quantize->output(2) &&
      scales->input(0) == quantize->output(1) && only_for(quantize->output(0), product) &&
      only_for(quantize->output(1), *scales) && only_for(quantize->output(2), product);
  if (whole) parts.push_back(quantize);
  forms_[product.id] =
      whole ? OnnxRuntimeForm::kDynamicQuantizeMatMul : OnnxRuntimeForm::kMatMulIntegerToFloat;
  for (const Node* part : parts)
    product_of_[part->id] = product.id;
}

OnnxRuntimeForm DynamicProducts::form(const Node& product) const {
  const auto found = forms_.find(product.id);
  return found == forms_.end() ? OnnxRuntimeForm::kAsWritten : found->second;
}

const Node* DynamicProducts::product_of(const Node& node) const {
  const auto found = product_of_.find(node.id);
  return found == product_of_.end() ? nullptr : &graph_.node(found->second);
}

} // namespace octet
