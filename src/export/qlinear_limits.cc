// SPDX-License-Identifier: Apache-2.0
#include "export/qlinear_limits.h"

#include <map>

#include "targets/checks.h"

namespace octet {

namespace {

/// How many elements a Softmax sums over, where it is known.
std::optional<int64_t> softmax_length(const Graph& graph, const Node& node) {
  const TypeInfo& type = graph.value(node.input(0)).type;
  if (!type.has_rank()) return std::nullopt;
  const bool flattens = graph.opset() < 13;
  const int64_t named = node.attr_int("axis", flattens ? 1 : -1);
  const int64_t first = named < 0 ? named + type.rank() : named;
  int64_t length = 1;
  for (int64_t axis = first; axis < (flattens ? type.rank() : first + 1); ++axis) {
    const auto size = (*type.shape)[static_cast<size_t>(axis)].maybe_value();
    if (!size) return std::nullopt;
    length *= *size;
  }
  return length;
}

/// QLinearSoftmax loses the upper bits of codes above 255, and a row of one element altogether.
bool softmax_on_codes(const Graph& graph, const Node& node, double scale) {
  constexpr double kSmallestScale = 1.0 / 256;
  const auto length = softmax_length(graph, node);
  return scale >= kSmallestScale && length && *length > 1;
}

/// Its factor s_x / (s_y * elements) must lie in [2^-32, 256).
bool global_average_on_codes(double from, double to) {
  constexpr double kLargest = 256, kSmallest = 0x1p-8; // for planes of up to 2^24 elements
  return from / to < kLargest && from / to >= kSmallest;
}

} // namespace

bool computes_on_codes(const Graph& graph,
                       const Node& node,
                       const qdq::Site& in,
                       const CodedOutput& out) {
  const double scale = out.quantize.grid.scale_at(0);
  if (node.is("Softmax")) return softmax_on_codes(graph, node, scale);
  if (node.is("GlobalAveragePool")) return global_average_on_codes(in.grid.scale_at(0), scale);
  if (!node.is("AveragePool")) return true;
  // It divides windows that ceil_mode lets pass the padding by another count than AveragePool, and
  // runs one window over the whole image as a global pool.
  const bool counts_alike =
      node.attr_int("ceil_mode", 0) == 0 || node.attr_int("count_include_pad", 0) == 0;
  return counts_alike && global_average_on_codes(in.grid.scale_at(0), scale);
}

void make_parameters_scalar(Graph& graph) {
  std::map<ValueId, ValueId> scalars;
  const auto scalar = [&](ValueId id) {
    const auto [found, is_new] = scalars.try_emplace(id);
    if (is_new)
      found->second = graph.add_constant(graph.unique_name(graph.value(id).name + "_scalar"),
                                         graph.constant(id)->reshaped({}).value());
    return found->second;
  };
  for (const NodeId id : graph.nodes()) {
    if (!is_qdq(graph.node(id)) || qdq::written(graph, graph.node(id)).block != 0) continue;
    for (size_t i = 1; i < graph.node(id).inputs.size(); ++i) {
      const ValueId parameter = graph.node(id).input(i);
      const Tensor* value = graph.constant(parameter);
      if (value != nullptr && value->count() == 1 && value->rank() == 1)
        graph.set_node_input(id, i, scalar(parameter));
    }
  }
}

} // namespace octet
