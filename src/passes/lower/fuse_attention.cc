// SPDX-License-Identifier: Apache-2.0
//   q, k ─▶ MatMul ─▶ [Map, Where] ─▶ Softmax ─▶ MatMul(v) ─▶ y    =>    q, k, v ─▶ Attention ─▶ y
// and with QMatMul, and Quantize behind Softmax, QAttention. Exact. Transposes of q, k, v and y
// become the order in which they are read and written, where rows stay on end.
#include "passes/lower/fuse_attention.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "graph/domains.h"
#include "passes/lower/programs.h"

namespace octet::lowering {
namespace {

constexpr size_t kOperands = 3; // q, k, v

using numerics::MapInstruction;
using numerics::MapOperand;

/// A value and its axes in the order that attention computes with.
struct Operand {
  ValueId id;
  std::vector<int64_t> perm;
};

/// The nodes of one attention, and what it reads.
struct Found {
  const Node* scores = nullptr;
  std::vector<const Node*> between; ///< what becomes of the scores, the last one first
  const Node* softmax = nullptr;
  const Node* quantize = nullptr; ///< of the probabilities, or null
  const Node* context = nullptr;
  std::optional<Mapped> program; ///< of `between`, the scores first
  Operand q, k, v;
};

bool stays(const std::vector<int64_t>& perm) {
  return std::is_sorted(perm.begin(), perm.end());
}

bool is_product(const Node& node) {
  return node.is("MatMul", kNative) || node.is("QMatMul", kNative);
}

/// Numbers, and nothing done to them.
bool gives_sums(const Node& node) {
  return node.is("MatMul", kNative) ||
         (node.attr_int("to", 0) == static_cast<int64_t>(DType::kFloat32) &&
          !node.has_attr("min") && !node.has_attr("max"));
}

/// The scores become x0.
Mapped scores_first(Mapped from, size_t scores) {
  std::rotate(from.inputs.begin(), from.inputs.begin() + static_cast<ptrdiff_t>(scores),
              from.inputs.begin() + static_cast<ptrdiff_t>(scores) + 1);
  for (MapInstruction& each : from.program.code)
    for (size_t i = 0; i < each.used().size(); ++i) {
      MapOperand& operand = each.operands[i];
      if (operand.kind != MapOperand::Kind::kInput) continue;
      if (operand.index == scores)
        operand.index = 0;
      else if (operand.index < scores)
        ++operand.index;
    }
  return from;
}

class AttentionFuser {
 public:
  AttentionFuser(Graph& graph, std::vector<LowerNote>& notes)
      : graph_(graph), uses_(graph), notes_(notes) {
    for (size_t i = 0; i < notes.size(); ++i)
      if (!notes[i].name.empty()) note_of_.emplace(notes[i].name, i);
  }

  Status run() {
    for (const NodeId id : OCTET_TRY(graph_.topological())) {
      if (!graph_.alive(id)) continue;
      const auto found = find(graph_.node(id));
      if (!found) continue;
      write(*found);
      uses_ = Uses(graph_);
    }
    graph_.remove_dead();
    return ok_status();
  }

 private:
  /// The node that makes the value, if it is for `reader` alone.
  const Node* made_for(const Node& reader, ValueId value) const {
    const Node* maker = graph_.producer(value);
    return maker != nullptr && uses_.single_consumer(value) == reader.id ? maker : nullptr;
  }

  const TypeInfo& type(ValueId id) const { return graph_.value(id).type; }

  bool is_last_axis(const Node& softmax) const {
    const TypeInfo& x = type(softmax.input(0));
    const int64_t axis = softmax.attr_int("axis", -1);
    return x.has_rank() && (axis == -1 || axis == x.rank() - 1);
  }

  std::optional<Found> find(const Node& node) const {
    if (!is_product(node)) return std::nullopt;
    Found f;
    f.context = &node;
    const Node* before = made_for(node, node.input(0));
    if (before != nullptr && node.is("QMatMul", kNative)) {
      if (!before->is("Quantize", kNative)) return std::nullopt;
      f.quantize = before;
      before = made_for(*before, before->input(0));
    }
    if (before == nullptr || !before->is("Softmax", kNative) || !is_last_axis(*before))
      return std::nullopt;
    f.softmax = before;
    if (!find_scores(f)) return std::nullopt;
    const bool turned = f.scores->is("QMatMul", kNative) || f.scores->attr_int("trans_b", 0) == 0;
    const auto q = operand(f.scores->input(0), false), k = operand(f.scores->input(1), turned),
               v = operand(node.input(1), node.attr_int("trans_b", 0) != 0);
    if (!q || !k || !v || !on_end(*q) || !on_end(*v)) return std::nullopt;
    f.q = *q;
    f.k = *k;
    f.v = *v;
    return once(f) ? std::optional(std::move(f)) : std::nullopt;
  }

  /// Elementwise nodes from the softmax up to a product, each for the next one alone. The last one
  /// of `chain` reads `value`.
  const Node* product_behind(ValueId value, std::vector<const Node*>& chain) const {
    const Node* maker = made_for(*chain.back(), value);
    if (maker == nullptr) return nullptr;
    if (is_product(*maker)) return gives_sums(*maker) ? maker : nullptr;
    const auto program = program_of(*maker);
    if (!program) return nullptr;
    chain.push_back(maker);
    for (const Mapped::Input& input : program->inputs)
      if (const Node* product = product_behind(input.id, chain)) return product;
    chain.pop_back();
    return nullptr;
  }

  /// Conditions stand for f32, 1 or 0, which write() makes of them.
  std::optional<Mapped> program_of(const Node& node) const {
    if (!node.is("Where") || type(node.output(0)).type != DType::kFloat32) {
      auto program = mapped(graph_, node, Bits::kSame);
      const auto made = [](const Mapped::Input& input) { return input.made.has_value(); };
      if (program && std::any_of(program->inputs.begin(), program->inputs.end(), made))
        return std::nullopt;
      return program;
    }
    Mapped out;
    for (const ValueId id : node.inputs)
      out.inputs.push_back({id, std::nullopt});
    if (node.input(1) == node.input(2)) return std::nullopt;
    out.program.inputs = out.inputs.size();
    using Kind = MapOperand::Kind;
    out.program.code = {
        {numerics::MapOp::kSelect, {{Kind::kInput, 0}, {Kind::kInput, 1}, {Kind::kInput, 2}}}};
    return out;
  }

  bool find_scores(Found& f) const {
    std::vector<const Node*> chain = {f.softmax};
    f.scores = product_behind(f.softmax->input(0), chain);
    if (f.scores == nullptr) return false;
    f.between.assign(chain.begin() + 1, chain.end());
    for (const Node* node : f.between) {
      auto program = program_of(*node);
      if (f.program) {
        const std::optional<size_t> k = input_of(*f.program, node->output(0));
        program = k ? joined(*program, *f.program, *k) : std::nullopt;
      }
      if (!program) return false;
      f.program = std::move(program);
    }
    if (!f.program) return true;
    const std::optional<size_t> k = input_of(*f.program, f.scores->output(0));
    if (!k) return false;
    f.program = scores_first(*f.program, *k);
    return true;
  }

  static std::optional<size_t> input_of(const Mapped& program, ValueId id) {
    for (size_t i = 0; i < program.inputs.size(); ++i)
      if (program.inputs[i].id == id) return i;
    return std::nullopt;
  }

  static bool on_end(const Operand& x) {
    return x.perm.back() == static_cast<int64_t>(x.perm.size()) - 1;
  }

  /// Behind all Transposes through which rows stay on end, or, of k, lie across.
  std::optional<Operand> operand(ValueId id, bool turned) const {
    if (!type(id).has_rank() || type(id).rank() < 2) return std::nullopt;
    std::vector<int64_t> perm(static_cast<size_t>(type(id).rank()));
    std::iota(perm.begin(), perm.end(), int64_t{0});
    if (turned) std::swap(perm.back(), *(perm.end() - 2));
    Operand best{id, perm};
    for (const Node* maker = graph_.producer(id); maker != nullptr && maker->is("Transpose");
         maker = graph_.producer(id)) {
      const std::vector<int64_t> turn = maker->attr_ints("perm");
      if (turn.size() != perm.size()) break;
      for (int64_t& axis : perm)
        axis = turn[static_cast<size_t>(axis)];
      id = maker->input(0);
      const auto last = static_cast<int64_t>(perm.size()) - 1;
      if (perm.back() == last || (turned && *(perm.end() - 2) == last)) best = {id, perm};
    }
    return best;
  }

  /// Whether no score is computed for several rows or heads of the result, as far as is known.
  bool once(const Found& f) const {
    const TypeInfo& p = type(f.softmax->output(0));
    const TypeInfo& y = type(f.context->output(0));
    if (!p.has_rank() || !y.has_rank() || p.rank() != y.rank()) return false;
    const auto as_large = [](const Dim& a, const Dim& b) { return a == b || !a.is_known(); };
    return std::equal(p.shape->begin(), p.shape->end() - 1, y.shape->begin(), as_large) &&
           covers(type(f.scores->output(0)), p);
  }

  void write(const Found& f) {
    Node made = *f.context;
    const bool codes = f.scores->is("QMatMul", kNative) || f.quantize != nullptr;
    made.op_type = codes ? "QAttention" : "Attention";
    made.attributes.erase("trans_b");
    made.attributes.erase("a_zero_point");
    if (f.quantize != nullptr) {
      made.set("v_zero_point", f.context->attr_int("b_zero_point", 0));
      made.set("p_scale", f.quantize->attr_float("scale", 1));
      made.set("p_zero_point", f.quantize->attr_int("zero_point", 0));
      made.set("p_to", f.quantize->attr_int("to", static_cast<int64_t>(DType::kInt8)));
    }
    made.attributes.erase("b_zero_point");
    if (f.scores->is("QMatMul", kNative)) {
      made.set("q_zero_point", f.scores->attr_int("a_zero_point", 0));
      made.set("k_zero_point", f.scores->attr_int("b_zero_point", 0));
      made.set("scores_multiplier", f.scores->attr_float("multiplier", 1));
    }
    made.inputs = {f.q.id, f.k.id, f.v.id};
    const auto set_perm = [&](const char* key, const std::vector<int64_t>& perm) {
      if (!stays(perm)) made.set(key, perm);
    };
    set_perm("q_perm", f.q.perm);
    set_perm("k_perm", f.k.perm);
    set_perm("v_perm", f.v.perm);
    if (f.program) {
      made.set("program", numerics::program_text(f.program->program));
      if (!f.program->program.constants.empty())
        made.set("constants", f.program->program.constants);
      for (size_t i = 1; i < f.program->inputs.size(); ++i)
        made.inputs.push_back(f.program->inputs[i].id);
    }
    made.origin.clear();
    std::vector<const Node*> gone = f.between;
    std::reverse(gone.begin(), gone.end());
    gone.insert(gone.begin(), f.scores);
    gone.push_back(f.softmax);
    if (f.quantize != nullptr) gone.push_back(f.quantize);
    for (const Node* node : gone)
      made.origin.insert(made.origin.end(), node->origin.begin(), node->origin.end());
    made.origin.insert(made.origin.end(), f.context->origin.begin(), f.context->origin.end());
    write_notes(f, made.op_type);
    const NodeId id = f.context->id;
    const ValueId y = f.context->output(0);
    for (const Node* node : gone)
      graph_.remove_node(node->id);
    write_turned(made, y);
    for (size_t i = kOperands; i < made.inputs.size(); ++i)
      if (type(made.inputs[i]).type == DType::kBool) made.inputs[i] = as_float(made.inputs[i]);
    graph_.mutable_node(id) = std::move(made);
  }

  /// 1 where a condition holds, else 0.
  ValueId as_float(ValueId condition) {
    const Value& from = graph_.value(condition);
    const std::string name = from.name + "/numbers";
    TypeInfo numbers = from.type;
    numbers.type = DType::kFloat32;
    if (const Tensor* known = graph_.constant(condition)) {
      const auto values = known->to_doubles().value();
      return graph_.add_constant(
          name, Tensor::from_doubles(DType::kFloat32, known->shape(), values).value());
    }
    Attributes to;
    to["to"].value = static_cast<int64_t>(DType::kFloat32);
    const ValueId made = graph_.emit("Cast", {condition}, std::move(to), name);
    graph_.set_type(made, std::move(numbers));
    return made;
  }

  /// A Transpose that alone reads the result.
  void write_turned(Node& made, ValueId y) {
    const NodeId reader = uses_.single_consumer(y);
    if (!reader.valid() || !graph_.node(reader).is("Transpose")) return;
    const Node& turn = graph_.node(reader);
    std::vector<int64_t> perm = turn.attr_ints("perm");
    const ValueId turned = turn.output(0);
    if (perm.empty() || perm.back() != static_cast<int64_t>(perm.size()) - 1 ||
        graph_.is_output(turned))
      return;
    made.set("y_perm", std::move(perm));
    graph_.set_type(y, type(turned));
    graph_.replace_uses(turned, y);
    graph_.remove_node(reader);
  }

  void write_notes(const Found& f, const std::string& op) {
    const auto note = [&](const Node& node) {
      const auto at = note_of_.find(node.name);
      return at == note_of_.end() ? nullptr : &notes_[at->second];
    };
    LowerNote* into = note(*f.context);
    if (into == nullptr) return;
    into->form = op;
    if (LowerNote* scores = note(*f.scores)) scores->form = op;
    std::vector<const Node*> fused = f.between;
    fused.push_back(f.softmax);
    if (f.quantize != nullptr) fused.push_back(f.quantize);
    for (const Node* node : fused) {
      LowerNote* one = note(*node);
      if (one == nullptr) continue;
      one->runs = LowerForm::kFused;
      one->form = "fused into " + into->node;
      one->why.clear();
    }
  }

  Graph& graph_;
  Uses uses_;
  std::vector<LowerNote>& notes_;
  std::map<std::string, size_t, std::less<>> note_of_;
};

} // namespace

Status fuse_attention(Graph& graph, std::vector<LowerNote>& notes) {
  return AttentionFuser(graph, notes).run();
}

} // namespace octet::lowering
