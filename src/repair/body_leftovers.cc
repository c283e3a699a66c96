// SPDX-License-Identifier: Apache-2.0
// What a body of If, Loop or Scan keeps from being repaired: codes that cross its border, ranges
// that only data would show, types that do not fit.
#include <algorithm>

#include "graph/bodies.h"
#include "ops/infer.h"
#include "ops/qdq/quant_layout.h"
#include "repair/rule.h"
#include "targets/checks.h"

namespace octet {

namespace {

constexpr std::string_view kCrossing =
    "; its codes cross the border of a body of If, Loop or Scan, where repair changes neither "
    "side: "
    "quantize and dequantize on the same side where the file is made, or simplify it with the "
    "condition fixed";
constexpr std::string_view kUnseen = "; data does not show what the body of an If, Loop or Scan "
                                     "computes: give it a fixed scale where "
                                     "the file is made, or simplify it with the condition fixed";
constexpr std::string_view kUnfit = "; the types of this body do not fit together, so repair "
                                    "leaves it as it is: do it where the file "
                                    "is made";

class Leftovers {
 public:
  explicit Leftovers(std::vector<Finding>& left) : left_(left) {}

  void look(const Graph& graph, const std::string& path) {
    const Uses uses(graph);
    for (const NodeId id : graph.nodes()) {
      const Node& node = graph.node(id);
      if (crosses(graph, uses, node, !path.empty())) add(path + label(graph, node), kCrossing);
      if (!path.empty() && needs_ranges(node)) add(path + label(graph, node), kUnseen);
      for (const auto& [key, inner] : bodies_of(node))
        body(graph, *inner, path + label(graph, node) + " " + key + ": ");
    }
  }

 private:
  void body(const Graph& outer, const Graph& inner, const std::string& path) {
    Graph alone = standing_alone(outer, inner);
    if (infer_types(alone).ok()) {
      look(alone, path);
      return;
    }
    for (Finding& finding : left_)
      if (finding.node.starts_with(path) && finding.severity == Severity::kError)
        finding.fix += kUnfit;
  }

  void add(const std::string& node, std::string_view why) {
    for (Finding& finding : left_)
      if (finding.node == node && finding.severity == Severity::kError) finding.fix += why;
  }

  static bool needs_ranges(const Node& node) {
    return node.is("DynamicQuantizeLinear") || node.is("DynamicQuantizeMatMul", kMicrosoft);
  }

  /// A node that makes or reads codes which a body captures, is handed or hands out.
  static bool crosses(const Graph& graph, const Uses& uses, const Node& node, bool in_body) {
    std::vector<ValueId> codes;
    if (is_quantize(node)) codes = {node.output(0)};
    if (is_dequantize(node)) codes = {node.input(0)};
    if (!is_qdq(node)) {
      codes = node.inputs;
      codes.insert(codes.end(), node.outputs.begin(), node.outputs.end());
    }
    return std::any_of(codes.begin(), codes.end(),
                       [&](ValueId id) { return crosses(graph, uses, id, in_body); });
  }

  static bool crosses(const Graph& graph, const Uses& uses, ValueId codes, bool in_body) {
    if (!codes.valid() || graph.constant(codes) != nullptr) return false;
    const Value& value = graph.value(codes);
    if (!code_range(value.type.type)) return false;
    const Node* maker = graph.producer(codes);
    if (value.kind == ValueKind::kCapture || (maker != nullptr && has_bodies(*maker))) return true;
    if (in_body && (value.kind == ValueKind::kInput || graph.is_output(codes))) return true;
    const auto readers = uses.of(codes);
    return std::any_of(readers.begin(), readers.end(),
                       [&](const Uses::Use& use) { return has_bodies(graph.node(use.node)); });
  }

  std::vector<Finding>& left_;
};

} // namespace

void explain_what_bodies_leave(const Graph& graph, std::vector<Finding>& left) {
  if (left.empty()) return;
  Graph typed = graph;
  if (infer_types(typed).ok()) Leftovers(left).look(typed, "");
}

} // namespace octet
