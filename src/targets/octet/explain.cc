// SPDX-License-Identifier: Apache-2.0
// How octet itself runs a graph: lowering says so.
#include <algorithm>
#include <map>

#include "core/format.h"
#include "core/string_util.h"
#include "graph/domains.h"
#include "ops/native/recurrent.h"
#include "passes/lower/lower.h"
#include "targets/checks.h"
#include "targets/onnxruntime/integer.h"

namespace octet {

namespace {

LayerPrecision precision_of(LowerForm runs) {
  switch (runs) {
  case LowerForm::kIntegers:
    return LayerPrecision::kInt8;
  case LowerForm::kCodes:
    return LayerPrecision::kCodes;
  case LowerForm::kFused:
    return LayerPrecision::kFused;
  case LowerForm::kFloat:
  case LowerForm::kKept:
    break;
  }
  return LayerPrecision::kFloat;
}

/// An operator that is not lowered: octet's own, or one that is integer in the file.
void as_it_is(const Node& node, LayerForm& form) {
  if (node.domain == kNative) form.why = "octet's own operator";
  if (computes_with_codes(node) || computes_in_integers(node))
    form.precision = LayerPrecision::kInt8;
}

void read(const LowerNote& note, LayerForm& form) {
  form.form = note.form;
  form.why = note.why;
  form.precision = precision_of(note.runs);
}

/// The operator that a chain of nodes became: its label is not among the file's.
LayerForm of_chain(const LowerNote& note) {
  LayerForm out;
  out.op = note.op_type;
  out.node = note.name;
  read(note, out);
  out.source = "native-operators";
  return out;
}

/// The part that is the node itself, written for images of height 1 or the like; nullptr where it
/// became other operators.
const LowerNote* same_operator(std::span<const LowerNote* const> parts, const Node& node) {
  const LowerNote* found = nullptr;
  for (const LowerNote* part : parts) {
    if (part->op_type != node.op_type) continue;
    if (found != nullptr || part->name != node.name) return nullptr;
    found = part;
  }
  return found;
}

/// Float or int8 where the part is a product; else nothing.
std::optional<LayerPrecision> product_precision(const LowerNote& part) {
  const std::string& op = part.op_type;
  for (const std::string_view integer : {"MatMulInteger", "ConvInteger", "QScaledGemm", "QLSTM"})
    if (op == integer) return LayerPrecision::kInt8;
  if (op != "Conv" && op != "Gemm" && op != "MatMul" && native::recurrent_kind(op) == nullptr)
    return std::nullopt;
  return precision_of(part.runs);
}

/// Of a node that standard operators compute: all that they run as. Its precision is int8 where a
/// product of it is, or where it has none and all parts are.
void of_parts(std::span<const LowerNote* const> parts, LayerForm& form) {
  std::vector<std::string> forms;
  bool all_int8 = true, products = false, int8_product = false;
  std::string why_product, why_other; // runs in float
  for (const LowerNote* part : parts) {
    const std::string& op = part->op_type;
    if (op == "QuantizeLinear" || op == "DequantizeLinear" || op == "RoundHalf" ||
        op == "FakeQuantize" || part->runs == LowerForm::kFused || part->form == "constant")
      continue;
    if (std::find(forms.begin(), forms.end(), part->form) == forms.end())
      forms.push_back(part->form);
    const auto of_product = product_precision(*part);
    products = products || of_product.has_value();
    const bool is_int8 = of_product.value_or(precision_of(part->runs)) == LayerPrecision::kInt8;
    int8_product = int8_product || (of_product && is_int8);
    all_int8 = all_int8 && is_int8;
    std::string& why = of_product ? why_product : why_other;
    if (!is_int8 && why.empty()) why = part->why;
  }
  form.form = join(forms, ", ");
  const bool int8 = int8_product || (!products && all_int8);
  form.precision = int8 ? LayerPrecision::kInt8 : LayerPrecision::kFloat;
  if (!int8)
    form.why = why_product.empty() ? why_other : why_product;
  else if (!why_product.empty())
    form.why = "another product of it runs in float: " + why_product;
}

} // namespace

Result<std::vector<LayerForm>> explain_octet(const Graph& graph, const TargetDef&) {
  Graph named = graph; // notes speak of nodes by name
  for (const NodeId id : named.nodes()) {
    named.mutable_node(id).name = name_of(graph, graph.node(id));
    named.mutable_node(id).origin.clear();
  }
  const Lowered lowered = OCTET_TRY_WITH(lower(named), "explain");
  std::multimap<std::string, const LowerNote*> notes;
  std::map<std::string, std::vector<const LowerNote*>> parts; ///< by the node they were made from
  for (const LowerNote& note : lowered.notes)
    if (note.origin.size() == 1)
      parts[note.origin[0]].push_back(&note);
    else
      notes.emplace(note.node, &note);
  std::vector<LayerForm> out;
  std::vector<const LowerNote*> chains;
  for (const NodeId id : OCTET_TRY(named.topological())) {
    const Node& node = named.node(id);
    const auto found = notes.find(label(named, node));
    const auto made = parts.find(node.name);
    LayerForm form;
    form.id = id;
    form.node = node.name;
    form.op = node.op_type;
    form.source = "native-operators";
    if (found != notes.end()) {
      read(*found->second, form);
      if (found->second->runs == LowerForm::kKept) as_it_is(node, form);
      notes.erase(found);
    } else if (made != parts.end() && (node.domain == kMicrosoft || computes_in_integers(node) ||
                                       native::recurrent_kind(node.op_type) != nullptr)) {
      of_parts(made->second, form);
    } else if (const LowerNote* same =
                   made != parts.end() ? same_operator(made->second, node) : nullptr) {
      read(*same, form);
    } else {
      if (made != parts.end())
        chains.insert(chains.end(), made->second.begin(), made->second.end());
      form.form = "fused";
      form.precision = LayerPrecision::kFused;
      form.why =
          "part of what runs as one operator: a Gelu, a LayerNormalization, a factor of weights";
    }
    if (!is_qdq(node) && !node.is("Constant")) out.push_back(std::move(form));
  }
  for (const LowerNote* note : chains) // what they became
    out.push_back(of_chain(*note));
  for (const auto& left : notes)
    out.push_back(of_chain(*left.second));
  return out;
}

} // namespace octet
