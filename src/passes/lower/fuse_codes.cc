// SPDX-License-Identifier: Apache-2.0
//   a ─▶ Dequantize ─▶ Map ─▶ Quantize ─▶ y    =>    a ─▶ QMap ─▶ y
// Numbers between codes stay in registers and the first cache instead of memory. Exact: QMap does
// the three one after the other. Others that read the dequantized numbers still have them.
//   a ─▶ Dequantize ─▶ Map of it alone ─▶ Quantize ─▶ y    =>    a ─▶ QTable ─▶ y
//   a ─▶ Dequantize ─▶ Resize ─▶ Quantize ─▶ y    =>    a ─▶ QResize ─▶ y
#include "passes/lower/fuse_codes.h"

#include <algorithm>
#include <map>
#include <optional>

#include "core/numerics/round.h"
#include "graph/domains.h"
#include "ops/native/qmap.h"
#include "ops/qdq/quant_layout.h"
#include "passes/lower/programs.h"

namespace octet::lowering {
namespace {

using native::MapGrid;
using numerics::MapInstruction;
using numerics::MapOp;
using numerics::MapOperand;

MapGrid grid_of(const Node& node, DType type) {
  return {.type = type,
          .scale = node.attr_float("scale", 1),
          .zero = static_cast<int32_t>(node.attr_int("zero_point", 0))};
}

/// Below which no result of a program is, where its last instruction says so; NaN may be one.
std::optional<float> least(const numerics::Program& program) {
  const MapInstruction& last = program.code.back();
  if (last.op == MapOp::kRelu) return 0.0F;
  if (last.op == MapOp::kClamp && last.operands[1].kind == MapOperand::Kind::kConstant &&
      last.operands[2].kind == MapOperand::Kind::kConstant)
    return std::min(program.constants[last.operands[1].index],
                    program.constants[last.operands[2].index]);
  return std::nullopt;
}

/// Makes one input of those that read the same codes in the same way, as each reader of Q has a
/// Dequantize of its own.
void merge_alike(Mapped& made, std::vector<MapGrid>& grids) {
  std::vector<uint8_t> place;
  std::vector<Mapped::Input> inputs;
  std::vector<MapGrid> kept;
  for (size_t i = 0; i < made.inputs.size(); ++i) {
    size_t at = made.inputs[i].id.valid() ? 0 : inputs.size();
    while (at < inputs.size() && (inputs[at].id != made.inputs[i].id || kept[at] != grids[i]))
      ++at;
    if (at == inputs.size()) {
      inputs.push_back(made.inputs[i]);
      kept.push_back(grids[i]);
    }
    place.push_back(static_cast<uint8_t>(at));
  }
  for (MapInstruction& each : made.program.code)
    for (MapOperand& operand : each.operands)
      if (operand.kind == MapOperand::Kind::kInput && operand.index < place.size())
        operand.index = place[operand.index];
  made.program.inputs = inputs.size();
  made.inputs = std::move(inputs);
  grids = std::move(kept);
}

bool interpolates(const Node& node) {
  return node.is("Resize", kNative) && node.attr_string("mode", "nearest") != "nearest";
}

class CodeFuser {
 public:
  CodeFuser(Graph& graph, std::vector<LowerNote>& notes) : graph_(graph), uses_(graph) {
    for (LowerNote& note : notes)
      if (!note.name.empty()) note_of_.emplace(note.name, &note);
  }

  Status run() {
    for (const NodeId id : OCTET_TRY(graph_.topological()))
      if (const auto made = mapped(graph_, graph_.node(id), Bits::kSame))
        fuse(id, *made);
      else if (interpolates(graph_.node(id)))
        fuse_resize(id);
    graph_.remove_dead(); // Dequantize that nobody reads now
    return ok_status();
  }

 private:
  /// Takes the codes behind an input in place of its numbers.
  MapGrid take_codes(Mapped::Input& input) {
    const Node* maker = graph_.producer(input.id);
    if (!maker || !maker->is("Dequantize", kNative)) return {};
    input.id = maker->inputs[0];
    return grid_of(*maker, graph_.value(input.id).type.type);
  }

  MapGrid result_grid(const Node& quantize) {
    return grid_of(quantize, graph_.value(quantize.outputs[0]).type.type);
  }

  /// The quantizers of a result that nobody reads otherwise, all to one grid. Of several none makes
  /// an output of the graph, whose name would be lost.
  std::vector<NodeId> quantizers(ValueId y) {
    std::vector<NodeId> found;
    if (graph_.is_output(y)) return found;
    bool named = false;
    for (const Uses::Use& use : uses_.of(y)) {
      const Node& node = graph_.node(use.node);
      if (!node.is("Quantize", kNative)) return {};
      if (!found.empty() && result_grid(node) != result_grid(graph_.node(found[0]))) return {};
      named = named || graph_.is_output(node.outputs[0]);
      found.push_back(use.node);
    }
    if (named && found.size() > 1) return {};
    return found;
  }

  void fuse(NodeId id, Mapped made) {
    std::vector<MapGrid> grids;
    grids.reserve(made.inputs.size());
    for (Mapped::Input& input : made.inputs)
      grids.push_back(take_codes(input));
    merge_alike(made, grids);
    const bool coded =
        std::any_of(grids.begin(), grids.end(), [](const MapGrid& grid) { return grid.coded(); });
    const std::vector<NodeId> ends = quantizers(graph_.node(id).outputs[0]);
    if (!coded && ends.empty()) return;
    Node& node = graph_.mutable_node(id);
    set_map(node, made);
    if (coded && !ends.empty() && made.inputs.size() == 1)
      become_table(node, made.program, grids[0], result_grid(graph_.node(ends[0])));
    else
      become_map(node, made.program, grids, ends);
    if (!ends.empty()) end_in(id, ends);
  }

  void fuse_resize(NodeId id) {
    Mapped::Input x{.id = graph_.node(id).inputs[0], .made = {}};
    const MapGrid from = take_codes(x);
    const std::vector<NodeId> ends = quantizers(graph_.node(id).outputs[0]);
    if (!from.coded() && ends.empty()) return;
    Node& node = graph_.mutable_node(id);
    node.op_type = "QResize";
    node.inputs[0] = x.id;
    if (from.coded()) {
      node.set("x_scale", from.scale);
      node.set("x_zero_point", int64_t{from.zero});
    }
    if (!ends.empty()) {
      const MapGrid to = result_grid(graph_.node(ends[0]));
      node.set("to", static_cast<int64_t>(to.type));
      node.set("scale", to.scale);
      node.set("zero_point", int64_t{to.zero});
    }
    note(node, LowerForm::kFloat);
    if (!ends.empty()) end_in(id, ends);
  }

  void become_map(Node& node,
                  const numerics::Program& program,
                  const std::vector<MapGrid>& grids,
                  const std::vector<NodeId>& ends) {
    std::vector<float> scales;
    std::vector<int64_t> zeros;
    for (const MapGrid& grid : grids) {
      scales.push_back(grid.scale);
      zeros.push_back(grid.zero);
    }
    node.op_type = "QMap";
    node.set("scales", std::move(scales));
    node.set("zero_points", std::move(zeros));
    const MapGrid y = ends.empty() ? MapGrid{} : result_grid(graph_.node(ends[0]));
    node.set("to", static_cast<int64_t>(y.type));
    if (y.coded()) {
      node.set("scale", y.scale);
      node.set("zero_point", int64_t{y.zero});
      if (const auto lo = least(program)) {
        const int32_t code = code_of(*lo, y);
        node.set("lo", int64_t{std::min(code, y.zero)}); // NaN becomes the zero point
      }
    }
    note(node, LowerForm::kFloat);
  }

  void
  become_table(Node& node, const numerics::Program& program, const MapGrid& x, const MapGrid& y) {
    Tensor table = Tensor::zeros(y.type, {256}).value();
    const int32_t low = code_range(x.type)->lo;
    for (int32_t i = 0; i < 256; ++i) {
      const float number = numerics::dequantize(low + i, x.scale, x.zero);
      table.mutable_bytes()[static_cast<size_t>(i)] =
          static_cast<std::byte>(code_of(program.eval({&number, 1}), y));
    }
    node.op_type = "QTable";
    node.attributes.clear();
    node.inputs.push_back(graph_.add_constant(node.name + "/table", std::move(table)));
    note(node, LowerForm::kIntegers);
  }

  static int32_t code_of(float number, const MapGrid& y) {
    const CodeRange range = *code_range(y.type);
    return numerics::quantize(number, y.scale, y.zero, range.lo, range.hi);
  }

  /// The first quantizer becomes the node, since its result keeps its name and place.
  void end_in(NodeId id, const std::vector<NodeId>& ends) {
    const Node from = graph_.node(id);
    Node& end = graph_.mutable_node(ends[0]);
    end.op_type = from.op_type;
    end.inputs = from.inputs;
    end.attributes = from.attributes;
    end.name = from.name;
    end.origin = from.origin;
    const ValueId y = end.outputs[0];
    for (size_t i = 1; i < ends.size(); ++i) {
      graph_.replace_uses(graph_.node(ends[i]).outputs[0], y);
      graph_.remove_node(ends[i]);
    }
    graph_.remove_node(id);
  }

  void note(const Node& node, LowerForm runs) {
    const auto found = note_of_.find(node.name);
    if (found == note_of_.end()) return;
    found->second->runs = runs;
    found->second->form = node.op_type;
    if (runs == LowerForm::kIntegers) found->second->why.clear();
  }

  Graph& graph_;
  const Uses uses_; ///< before any change
  std::map<std::string, LowerNote*, std::less<>> note_of_;
};

} // namespace

Status fuse_codes(Graph& graph, std::vector<LowerNote>& notes) {
  return CodeFuser(graph, notes).run();
}

} // namespace octet::lowering
