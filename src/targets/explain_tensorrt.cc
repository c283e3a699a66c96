// SPDX-License-Identifier: Apache-2.0
// Which layers TensorRT can run in int8: those whose inputs come through DQ. It decides itself, by
// timing, among the kernels that Q/DQ allow. Source: docs/targets.md 2.
#include <algorithm>
#include <array>

#include "core/format.h"
#include "targets/checks.h"

namespace octet {

namespace {

class Explainer {
 public:
  Explainer(const Graph& graph, const TargetDef& target) : graph_(graph), target_(target) {}

  LayerForm layer(const Node& node) {
    LayerForm out;
    out.node = name_of(graph_, node);
    out.op = node.op_type;
    out.form = node.op_type;
    const PlacementRule* rule =
        node.domain.empty() ? target_.placement->rule(node.op_type) : nullptr;
    out.source = "targets " + std::string(rule != nullptr ? rule->clause : "2.1");
    out.precision = "float";
    const auto [codes, reals] = count_inputs(node);
    const bool product = rule != nullptr && rule->treatment == Treatment::kProduct;
    if (product && codes >= 2 && reals == 0) {
      out.precision = "int8";
      out.why = "all of its inputs come through DQ";
    } else if (product) {
      out.why = codes == 0
                    ? "none of its inputs comes through DQ"
                    : fmt::format("{} of its inputs come through DQ, {} do not", codes, reals);
    } else if (rule != nullptr && rule->treatment == Treatment::kAround) {
      const bool both = codes > 0 && read_through_q(node.output(0));
      out.precision = both ? "int8" : "float";
      out.why = both        ? "Q/DQ on its input and Q behind it"
                : codes > 0 ? "no Q behind it: it needs Q/DQ on both sides"
                            : "its input does not come through DQ";
    } else if (rule != nullptr && rule->treatment == Treatment::kCommutes) {
      out.precision = "codes";
      out.why = rule->why;
      if (!behind_codes(node)) {
        out.precision = "float";
        out.why = "no Q/DQ around it";
      }
    } else {
      out.why = rule != nullptr ? rule->why : target_.placement->otherwise;
    }
    return out;
  }

 private:
  /// Real inputs through DQ, and others (biases do not count).
  std::pair<int, int> count_inputs(const Node& node) const {
    int codes = 0;
    int reals = 0;
    for (size_t i = 0; i < std::min<size_t>(node.inputs.size(), 2); ++i) {
      const Node* before = graph_.producer(node.input(i));
      (before != nullptr && is_dequantize(*before) ? codes : reals) += 1;
    }
    return {codes, reals};
  }

  bool read_through_q(ValueId id) const {
    const Uses uses(graph_);
    for (int hops = 0; hops < 8; ++hops) {
      const NodeId next = uses.single_consumer(id);
      if (!next.valid()) return false;
      const Node& node = graph_.node(next);
      if (is_quantize(node)) return true;
      const PlacementRule* rule = target_.placement->rule(node.op_type);
      if (rule == nullptr || rule->treatment != Treatment::kCommutes) return false;
      id = node.output(0);
    }
    return false;
  }

  bool behind_codes(const Node& node) const {
    const Node* before = graph_.producer(node.input(0));
    return (before != nullptr && is_dequantize(*before)) || read_through_q(node.output(0));
  }

  const Graph& graph_;
  const TargetDef& target_;
};

} // namespace

Result<std::vector<LayerForm>> explain_tensorrt(const Graph& graph, const TargetDef& target) {
  Explainer explainer(graph, target);
  std::vector<LayerForm> out;
  for (const NodeId id : OCTET_TRY(graph.topological())) {
    const Node& node = graph.node(id);
    if (!is_qdq(node) && !node.is("Constant")) out.push_back(explainer.layer(node));
  }
  return out;
}

} // namespace octet
