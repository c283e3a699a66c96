// SPDX-License-Identifier: Apache-2.0
//   a, b ─▶ Dequantize ┐
//                    f ┴▶ Concat ─▶ Map(c) ─▶ Quantize ─▶ y
// =>
//   a, b ─▶ Concat ─▶ Dequantize ─▶ Map(c's part) ─▶ Quantize ┐
//                                f ─▶ Map(c's part) ─▶ Quantize ┴▶ Concat ─▶ y
// Exact: each element meets the same numbers. Codes are joined in place of numbers four times as
// large, and fuse_codes makes one step of what stands between codes: blocks that are joined to all
// blocks before them (DenseNet) stay in codes. Grids that differ become numbers of the Map that
// vary along the axis: float(code) less the zero point, times the scale, is what Dequantize does.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/domains.h"
#include "passes/lower/fused.h"
#include "passes/lower/programs.h"

namespace octet::lowering {
namespace {

using numerics::MapOp;
using numerics::MapOperand;
using Kind = MapOperand::Kind;

/// What a Concat joins: numbers, or codes and what they mean.
struct Piece {
  ValueId id;
  int64_t size = 0; ///< along the axis
  bool coded = false;
  DType type = DType::kFloat32;
  float scale = 1;
  int64_t zero = 0;

  bool same_grid(const Piece& other) const { return scale == other.scale && zero == other.zero; }
};

/// Pieces next to each other that one Map takes.
struct Run {
  std::vector<Piece> pieces;
  int64_t begin = 0, size = 0; ///< along the axis

  bool coded() const { return pieces[0].coded; }
  bool scales_differ() const {
    return coded() && std::any_of(pieces.begin(), pieces.end(),
                                  [&](const Piece& p) { return p.scale != pieces[0].scale; });
  }
  bool zeros_differ() const {
    return coded() && std::any_of(pieces.begin(), pieces.end(),
                                  [&](const Piece& p) { return p.zero != pieces[0].zero; });
  }
};

std::optional<int64_t> size_along(const Graph& g, ValueId id, int64_t axis) {
  const TypeInfo& type = g.value(id).type;
  if (!type.has_rank() || axis >= type.rank()) return std::nullopt;
  return (*type.shape)[static_cast<size_t>(axis)].maybe_value();
}

std::optional<int64_t> joined_axis(const Graph& g, const Node* node) {
  if (node == nullptr || !node->is("Concat")) return std::nullopt;
  const TypeInfo& type = g.value(node->outputs[0]).type;
  if (!type.has_rank()) return std::nullopt;
  const int64_t axis = node->attr_int("axis", 0);
  return axis < 0 ? axis + type.rank() : axis;
}

/// What is joined along the axis, also by the Concats before; false where a size is open or 0.
bool find_pieces(const Graph& g, const Node& join, int64_t axis, std::vector<Piece>& out) {
  for (const ValueId id : join.inputs) {
    const Node* maker = g.producer(id);
    if (joined_axis(g, maker) == axis) {
      if (!find_pieces(g, *maker, axis, out)) return false;
      continue;
    }
    const auto size = size_along(g, id, axis);
    if (!size || *size == 0) return false;
    Piece& piece = out.emplace_back(Piece{.id = id, .size = *size});
    if (maker == nullptr || !maker->is("Dequantize", kNative)) continue;
    piece.coded = true;
    piece.id = maker->inputs[0];
    piece.type = g.value(piece.id).type.type;
    piece.scale = maker->attr_float("scale", 1);
    piece.zero = maker->attr_int("zero_point", 0);
  }
  return true;
}

/// A Map whose input `joined` is what a Concat makes; the others are numbers for each place of the
/// axis or for all.
struct Match {
  Mapped map;
  size_t joined = 0;
  int64_t axis = 0, total = 0;
  std::vector<Tensor> numbers; ///< by input; empty for `joined`
  std::vector<Piece> pieces;

  /// Whether the numbers of an input vary along the axis.
  bool varies(size_t input) const { return numbers[input].count() != 1; }
};

bool take_numbers(const Graph& g, int64_t rank, Match& m) {
  m.numbers.resize(m.map.inputs.size());
  for (size_t i = 0; i < m.map.inputs.size(); ++i) {
    if (i == m.joined) continue;
    const Mapped::Input& input = m.map.inputs[i];
    const Tensor* t = input.made ? &*input.made : g.constant(input.id);
    if (t == nullptr || t->type() != DType::kFloat32 || t->rank() > rank) return false;
    const int64_t at = m.axis - (rank - t->rank());
    if (t->count() != 1 && (at < 0 || t->count() != m.total || t->dim(at) != m.total)) return false;
    m.numbers[i] = t->aligned();
  }
  return true;
}

std::optional<Match> match(const Graph& g, const Node& node) {
  auto map = mapped(g, node, Bits::kSame);
  if (!map) return std::nullopt;
  Match m;
  m.map = *std::move(map);
  size_t joins = 0;
  for (size_t i = 0; i < m.map.inputs.size(); ++i) {
    const ValueId id = m.map.inputs[i].id;
    const Node* maker = id.valid() ? g.producer(id) : nullptr;
    const auto axis = joined_axis(g, maker);
    if (!axis) continue;
    m.joined = i;
    m.axis = *axis;
    if (++joins > 1 || !find_pieces(g, *maker, *axis, m.pieces)) return std::nullopt;
  }
  if (joins == 0) return std::nullopt;
  for (const Piece& piece : m.pieces)
    m.total += piece.size;
  const ValueId x = m.map.inputs[m.joined].id;
  if (!take_numbers(g, g.value(x).type.rank(), m)) return std::nullopt;
  return m;
}

/// Codes of several grids are joined where the Map has room for the numbers that say so. A Map of
/// codes alone becomes a table, which one grid has.
bool joins(const Match& m, const Run& run, const Piece& piece) {
  const Piece& first = run.pieces[0];
  if (first.coded != piece.coded || first.type != piece.type) return false;
  if (!piece.coded || (!run.scales_differ() && !run.zeros_differ() && first.same_grid(piece)))
    return true;
  if (m.map.inputs.size() == 1) return false;
  const size_t more = static_cast<size_t>(run.scales_differ() || first.scale != piece.scale) +
                      static_cast<size_t>(run.zeros_differ() || first.zero != piece.zero);
  return m.map.inputs.size() + more <= numerics::kMaxMapInputs &&
         m.map.program.code.size() + 2 <= numerics::kMaxMapInstructions &&
         m.map.program.constants.size() + 2 <= numerics::kMaxMapConstants;
}

std::vector<Run> runs_of(const Match& m) {
  std::vector<Run> runs;
  int64_t at = 0;
  for (const Piece& piece : m.pieces) {
    if (runs.empty() || !joins(m, runs.back(), piece))
      runs.push_back({.pieces = {}, .begin = at, .size = 0});
    runs.back().pieces.push_back(piece);
    runs.back().size += piece.size;
    at += piece.size;
  }
  return runs;
}

class Maker {
 public:
  Maker(const RuleContext& c, Patch& patch, const Match& m, const Node& node)
      : c_(c), patch_(patch), m_(m), node_(node) {}

  /// Codes of a run, by the quantizer's attributes; nullopt where a Map does not hold the program.
  std::optional<ValueId> codes(const Run& run, const Node& quantizer, bool named) {
    const std::string name = named ? node_.name : node_.name + "/" + std::to_string(run.begin);
    const bool differ = run.scales_differ() || run.zeros_differ();
    ValueId x = joined(run);
    if (run.coded()) {
      Attributes grid;
      grid["scale"].value = differ ? 1.0F : run.pieces[0].scale;
      grid["zero_point"].value = differ ? int64_t{0} : run.pieces[0].zero;
      x = patch_.emit("Dequantize", {x}, std::move(grid), name + "/dequantize", kNative);
    }
    std::optional<Mapped> part = sliced(run, x);
    if (differ) part = lowering::joined(numbers_of_codes(run, x), *part, m_.joined);
    if (!part) return std::nullopt;
    Node map;
    set_map(map, *part);
    const ValueId y =
        patch_.emit(map.op_type, std::move(map.inputs), std::move(map.attributes), name, kNative);
    return patch_.emit("Quantize", {y}, quantizer.attributes, name + "/quantize", kNative);
  }

 private:
  /// Joins what Concats of these codes have joined already, and the rest.
  ValueId joined(const Run& run) {
    ValueId x = run.pieces[0].id;
    size_t done = 1;
    for (size_t next = done; next != 0 && done < run.pieces.size();) {
      next = 0;
      for (const Uses::Use& use : c_.uses.of(x)) {
        const Node& reader = c_.graph.node(use.node);
        if (joined_axis(c_.graph, &reader) != m_.axis || !continues(reader, run, x, done)) continue;
        next = reader.inputs.size() - 1;
        x = reader.outputs[0];
        break;
      }
      done += next;
    }
    if (done == run.pieces.size()) return x;
    std::vector<ValueId> parts = {x};
    for (; done < run.pieces.size(); ++done)
      parts.push_back(run.pieces[done].id);
    return patch_.emit("Concat", std::move(parts), axis(), node_.name + "/join");
  }

  static bool continues(const Node& join, const Run& run, ValueId x, size_t done) {
    const size_t more = join.inputs.size() - 1;
    if (more == 0 || join.inputs[0] != x || done + more > run.pieces.size()) return false;
    for (size_t i = 0; i < more; ++i)
      if (join.inputs[i + 1] != run.pieces[done + i].id) return false;
    return true;
  }

  Attributes axis() const {
    Attributes attributes;
    attributes["axis"].value = m_.axis;
    return attributes;
  }

  /// Numbers that vary along the axis.
  ValueId along_axis(std::vector<float> numbers, std::string_view what) {
    const auto count = static_cast<int64_t>(numbers.size());
    const int64_t rank = c_.graph.value(m_.map.inputs[m_.joined].id).type.rank();
    Shape shape(static_cast<size_t>(rank - m_.axis), 1);
    shape[0] = count;
    return patch_.constant(node_.name + "/" + std::string(what),
                           Tensor::of<float>(std::move(shape), numbers));
  }

  /// The Map of the places of a run, `x` in place of what was joined.
  Mapped sliced(const Run& run, ValueId x) {
    Mapped part = m_.map;
    for (size_t i = 0; i < part.inputs.size(); ++i) {
      if (i == m_.joined) {
        part.inputs[i] = {x, std::nullopt};
        continue;
      }
      const auto all = m_.numbers[i].data<float>();
      const auto some =
          m_.varies(i) ? all.subspan(static_cast<size_t>(run.begin), static_cast<size_t>(run.size))
                       : all;
      part.inputs[i] = {along_axis({some.begin(), some.end()}, "numbers"), std::nullopt};
    }
    return part;
  }

  /// Dequantize of codes that were read as numbers.
  Mapped numbers_of_codes(const Run& run, ValueId x) {
    Mapped out;
    out.inputs = {{x, std::nullopt}};
    MapOperand last = {Kind::kInput, 0};
    const auto step = [&](MapOp op, bool differ, auto&& of, std::string_view what) {
      MapOperand operand;
      if (differ) {
        std::vector<float> numbers;
        numbers.reserve(static_cast<size_t>(run.size));
        for (const Piece& piece : run.pieces)
          numbers.insert(numbers.end(), static_cast<size_t>(piece.size), of(piece));
        operand = {Kind::kInput, static_cast<uint8_t>(out.inputs.size())};
        out.inputs.push_back({along_axis(std::move(numbers), what), std::nullopt});
      } else {
        operand = {Kind::kConstant, static_cast<uint8_t>(out.program.constants.size())};
        out.program.constants.push_back(of(run.pieces[0]));
      }
      out.program.code.push_back({.op = op, .operands = {last, operand, {}}});
      last = {Kind::kResult, static_cast<uint8_t>(out.program.code.size() - 1)};
    };
    step(
        MapOp::kSub, run.zeros_differ(),
        [](const Piece& piece) { return static_cast<float>(piece.zero); }, "zero_points");
    step(
        MapOp::kMul, run.scales_differ(), [](const Piece& piece) { return piece.scale; }, "scales");
    out.program.inputs = out.inputs.size();
    return out;
  }

  const RuleContext& c_;
  Patch& patch_;
  const Match& m_;
  const Node& node_;
};

} // namespace

std::optional<Patch> map_before_joining(const RuleContext& c, const Node& node) {
  if (node.outputs.size() != 1) return std::nullopt;
  const std::vector<const Node*> quantizers = alike_quantizers(c, node.output(0));
  if (quantizers.empty()) return std::nullopt;
  const auto found = match(c.graph, node);
  if (!found) return std::nullopt;
  const std::vector<Run> runs = runs_of(*found);
  const auto widest = std::max_element(runs.begin(), runs.end(), [](const Run& a, const Run& b) {
    return std::pair(a.coded(), a.size) < std::pair(b.coded(), b.size);
  });
  if (!widest->coded()) return std::nullopt;
  Patch patch(c.graph, "codes are joined, and mapped piece by piece", Exactness::kExact);
  patch.from(node);
  Maker maker(c, patch, *found, node);
  std::vector<ValueId> parts;
  parts.reserve(runs.size());
  for (auto run = runs.begin(); run != runs.end(); ++run) {
    const auto codes = maker.codes(*run, *quantizers[0], run == widest);
    if (!codes) return std::nullopt;
    parts.push_back(*codes);
  }
  ValueId y = parts[0];
  if (parts.size() > 1) {
    Attributes axis;
    axis["axis"].value = found->axis;
    y = patch.emit("Concat", std::move(parts), std::move(axis), node.name + "/parts");
  }
  for (const Node* quantizer : quantizers) {
    patch.from(*quantizer);
    patch.replace(quantizer->output(0), y);
  }
  return patch;
}

} // namespace octet::lowering
