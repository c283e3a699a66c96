// SPDX-License-Identifier: Apache-2.0
#include "certify/unexamined.h"

#include <algorithm>

#include "core/format.h"
#include "graph/bodies.h"
#include "graph/domains.h"
#include "ops/op.h"
#include "passes/standardize/coded_operators.h"
#include "targets/checks.h"

namespace octet {

namespace {

bool is_8_bit(const Graph& graph, ValueId id) {
  if (!id.valid()) return false;
  const DType type = graph.value(id).type.type;
  return is_byte(type) || type == DType::kUndefined;
}

bool reads_codes(const Graph& graph, const Node& node) {
  return std::any_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId id) { return is_8_bit(graph, id); });
}

/// An operator of ONNX Runtime that octet does not compute; its QLinear family adds up no products.
bool is_unknown(const Node& node) {
  return node.domain == kMicrosoft && find_op(node.domain, node.op_type) == nullptr &&
         !is_qlinear(node) && node.op_type != "QEmbedLayerNormalization";
}

/// It adds the products up in integers.
bool multiplies_codes(const Node& node) {
  const Facts facts = facts_of(node);
  return facts.products && facts.on_codes;
}

bool body_multiplies(const Graph& body, int depth) {
  if (depth > 64) return true;
  for (const NodeId id : body.nodes()) {
    const Node& node = body.node(id);
    if (is_dequantize(node) || multiplies_codes(node) ||
        (is_unknown(node) && reads_codes(body, node)))
      return true;
    for (const Body& inner : bodies_of(node))
      if (body_multiplies(*inner.graph, depth + 1)) return true;
  }
  return false;
}

} // namespace

std::optional<std::string> may_multiply_codes(const Graph& graph, const Node& node) {
  for (const auto& [key, body] : bodies_of(node)) {
    const bool captures_real =
        std::any_of(node.captures.begin(), node.captures.end(), [&](ValueId id) {
          const Node* producer = id.valid() ? graph.producer(id) : nullptr;
          return producer != nullptr && is_dequantize(*producer);
        });
    if (captures_real || body_multiplies(*body, 0)) return "quantized layers stand in its " + key;
  }
  if (multiplies_codes(node)) return "products of this form are not known";
  if (node.domain.empty() || node.domain == kMl || node.domain == kNative) return std::nullopt;
  if (node.domain == kMicrosoft && !is_unknown(node)) return std::nullopt;
  if (!reads_codes(graph, node)) return std::nullopt;
  return fmt::format("what {} of the domain {} does with codes is not known", node.op_type,
                     node.domain);
}

} // namespace octet
