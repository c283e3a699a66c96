// SPDX-License-Identifier: Apache-2.0
//   [batch, length, ..] with a mask    =>    [tokens, ..] and offsets
// Exact: node after node, what a row of tokens needs of others is told by its operator. Shapes that
// were computed become constants, positions are told by the offsets, a mask is what it is where
// there is a token.
#include "passes/pack/pack_sequences.h"

#include <set>

#include "core/format.h"
#include "graph/domains.h"
#include "graph/label.h"
#include "graph/verify.h"
#include "passes/pack/packer.h"

namespace octet {
namespace packing {
namespace {

/// Values that the scores of attention are changed by, behind which no shapes stand.
class MaskInputs {
 public:
  explicit MaskInputs(const Graph& graph) : graph_(graph) {
    for (const NodeId id : graph.nodes()) {
      const Node& node = graph.node(id);
      if (!is_attention(node)) continue;
      for (size_t i = kOperands; i < node.inputs.size(); ++i)
        add(node.inputs[i]);
    }
  }
  bool holds(ValueId input) const { return found_.count(input) != 0; }

 private:
  void add(ValueId id) {
    if (!id.valid() || !found_.insert(id).second) return;
    const Node* node = graph_.producer(id);
    if (node == nullptr || node->is("Shape") || node->is("Size")) return;
    for (const ValueId in : node->inputs)
      add(in);
  }

  const Graph& graph_;
  std::set<ValueId> found_;
};

Status pack_inputs(Packer& p) {
  const MaskInputs masks(p.source());
  for (const ValueId id : p.source().inputs()) {
    const Value& v = p.source().value(id);
    if (masks.holds(id)) {
      OCTET_TRY(p.set_mask_input(id));
      continue;
    }
    const ValueId made =
        p.out().add_input(v.name, {v.type.type, std::vector<Dim>{Dim::symbol("tokens")}, {}});
    p.set_token_input(id, made);
  }
  return p.add_offsets();
}

Status pack_outputs(Packer& p) {
  for (const ValueId id : p.source().outputs()) {
    const Form& form = p.form(id);
    const std::string& name = p.source().value(id).name;
    if (!form.has_value())
      return error(ErrorCode::kUnsupported,
                   "output \"{}\" is a mask or a shape of the batch; sequences are packed without "
                   "them",
                   name);
    ValueId made = form.id;
    if (p.out().value(made).name != name) {
      made = p.out().emit("Identity", {made}, {}, name + "/output");
      p.out().rename(made, name);
    }
    p.out().mark_output(made);
  }
  return ok_status();
}

} // namespace
} // namespace packing

Status name_sequence_axes(Graph& graph) {
  if (graph.inputs().empty())
    return error(ErrorCode::kUnsupported,
                 "the model has no inputs; there are no sequences to pack");
  for (const ValueId id : graph.inputs()) {
    const Value& v = graph.value(id);
    const auto is_open = [](const Dim& d) { return !d.is_constant(); };
    if (!v.type.has_rank() || v.type.rank() != 2 || !is_open((*v.type.shape)[0]) ||
        !is_open((*v.type.shape)[1]))
      return error(ErrorCode::kUnsupported,
                   "input \"{}\" is {}; sequences are packed where all inputs are [batch, length] "
                   "with both sizes open",
                   v.name, v.type.text());
    graph.set_type(
        id, {v.type.type, std::vector<Dim>{packing::batch_size(), packing::sequence_length()}, {}});
  }
  return ok_status();
}

Result<Graph> pack_sequences(const Graph& lowered) {
  packing::Packer packer(lowered);
  OCTET_TRY(packing::pack_inputs(packer));
  for (const NodeId id : OCTET_TRY(lowered.topological()))
    OCTET_TRY_WITH(packer.pack(id), "sequences cannot be packed");
  OCTET_TRY(packing::pack_outputs(packer));
  Graph out = packer.take();
  out.remove_dead();
  OCTET_TRY_WITH(verify(out), "the packed graph");
  OCTET_TRY_WITH(infer_types(out), "the packed graph");
  return out;
}

} // namespace octet
