// SPDX-License-Identifier: Apache-2.0
#include "runtime/shapes.h"

#include <algorithm>

#include "core/format.h"
#include "core/released.h"
#include "graph/bodies.h"
#include "graph/label.h"
#include "ops/shared/elementwise.h"

namespace octet::runtime {
namespace {

/// Where a kernel computes as well, more than this is left to it.
constexpr int64_t kMostForKernels = 1024;
/// Where only the reference does, or needs it to tell shapes.
constexpr int64_t kMostForReference = int64_t{1} << 16;

/// By node id: whether only the reference computes it from shapes, or reads what it makes to do so.
std::vector<bool> leads_to_reference(const PreparedGraph& prepared) {
  const Graph& g = prepared.graph;
  const std::vector<bool> of_shapes = made_of_shapes(g, prepared.order);
  std::vector<bool> wanted(of_shapes.size(), false), out(prepared.nodes.size(), false);
  for (size_t i = prepared.order.size(); i-- > 0;) {
    const Node& node = g.node(prepared.order[i]);
    const auto index = static_cast<size_t>(node.id.index);
    if (!makes_needed(node, of_shapes)) continue;
    if (!prepared.by_reference[index] && !makes_needed(node, wanted)) continue;
    out[index] = true;
    for (const ValueId v : node.inputs)
      if (v.valid()) wanted[static_cast<size_t>(v.index)] = true;
  }
  return out;
}

bool same_tensor(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && a.shape() == b.shape() &&
         std::equal(a.bytes().begin(), a.bytes().end(), b.bytes().begin(), b.bytes().end());
}

bool identical_types(const TypeInfo& a, const TypeInfo& b) {
  return a.type == b.type && a.shape == b.shape && a.opaque == b.opaque;
}

} // namespace

Shapes::Shapes(std::shared_ptr<const PreparedGraph> prepared)
    : prepared_(std::move(prepared)), graph_(prepared_->graph) {
  known_.resize(static_cast<size_t>(graph_.value_bound()));
  changed_at_.resize(known_.size(), 0);
  evaluated_.resize(prepared_->nodes.size(), 0);
  const std::vector<bool> by_reference = leads_to_reference(*prepared_);
  for (const NodeId id : prepared_->order) {
    const Node& node = graph_.node(id);
    const OpDef* op = find_op(node.domain, node.op_type);
    if (!op || op->facts.value.random || !node.captures.empty() || has_bodies(node)) continue;
    const auto index = static_cast<size_t>(id.index);
    evaluated_[index] = by_reference[index] ? kMostForReference : kMostForKernels;
  }
}

const Tensor* Shapes::elements_of(ValueId id) const {
  if (const Tensor* t = known(id)) return t;
  const Tensor* constant = graph_.constant(id);
  return constant != nullptr && is_released(*constant) ? nullptr : constant;
}

const Tensor* Shapes::known(ValueId id) const {
  const Tensor& t = known_[static_cast<size_t>(id.index)];
  return t.empty() ? nullptr : &t;
}

Result<Operand> Shapes::operand(ValueId id) const {
  if (!id.valid()) return Operand{};
  const Value& value = graph_.value(id);
  std::optional<Shape> shape = value.type.static_shape();
  if (!shape || value.type.type == DType::kUndefined)
    return error(ErrorCode::kInternal, "the shape of \"{}\" ({}) is not known", value.name,
                 value.type.text());
  constexpr int64_t kMaxCount = int64_t{1} << 40;
  if (OCTET_TRY(element_count(*shape)) > kMaxCount)
    return error("\"{}\" ({}) would have more than 2^40 elements; use smaller shapes", value.name,
                 value.type.text());
  return Operand{id.index, value.type.type, std::move(*shape), elements_of(id)};
}

bool Shapes::is_told(ValueId id) const {
  const TypeInfo& type = graph_.value(id).type;
  return type.type != DType::kUndefined && type.shape &&
         std::all_of(type.shape->begin(), type.shape->end(),
                     [](const Dim& d) { return d.is_constant(); });
}

size_t Shapes::size_bytes(ValueId id) const {
  const TypeInfo& type = graph_.value(id).type;
  if (type.type == DType::kString) return 0;
  int64_t count = 1;
  for (const Dim& d : *type.shape)
    count *= d.value();
  return static_cast<size_t>(bytes_for(type.type, count));
}

void Shapes::start_anew() {
  whole_ = true;
  elements_.clear();
  for (Tensor& t : known_)
    t = Tensor{};
  std::fill(changed_at_.begin(), changed_at_.end(), now_);
  for (int32_t i = 0; i < graph_.value_bound(); ++i)
    if (!graph_.value(ValueId{i}).is_constant())
      graph_.set_type(ValueId{i}, prepared_->graph.value(ValueId{i}).type);
}

/// Whether types and elements of just the values are told of which they were told before.
bool Shapes::same_places(std::span<const Given> typed, const KnownElements& told) const {
  return typed.size() == typed_.size() && told.size() == told_.size() &&
         std::all_of(typed.begin(), typed.end(),
                     [&](const Given& one) { return typed_.count(one.id.index) != 0; }) &&
         std::all_of(told.begin(), told.end(),
                     [&](const auto& one) { return told_.count(one.first) != 0; });
}

Status Shapes::follow(std::span<const Given> typed, const KnownElements& told) {
  ++now_;
  if (whole_ || !same_places(typed, told)) start_anew();
  const bool anew = whole_;
  whole_ = true; // until all has gone well
  if (anew) typed_.clear();
  for (const Given& one : typed) {
    TypeInfo type = tensor_type(one.type, one.shape);
    TypeInfo& before = typed_[one.id.index];
    if (!anew && identical_types(before, type)) continue;
    before = type;
    graph_.set_type(one.id, std::move(type));
    changed_at_[static_cast<size_t>(one.id.index)] = now_;
  }
  OCTET_TRY(take_told(told));
  for (const NodeId id : prepared_->order) {
    const Node& node = graph_.node(id);
    if (!anew && !is_changed(node)) continue;
    OCTET_TRY_WITH(infer(node), fmt::format("node {}", label(graph_, node)));
  }
  whole_ = false;
  return ok_status();
}

Status Shapes::take_told(const KnownElements& told) {
  for (const auto& [id, dims] : told) {
    const auto before = told_.find(id);
    const bool same = before != told_.end() && before->second == dims && elements_.count(id) != 0;
    if (same && changed_at(id) != now_) continue;
    elements_.insert_or_assign(id, dims);
    known_[static_cast<size_t>(id.index)] = Tensor{};
    OCTET_TRY(keep_elements(id));
    changed_at_[static_cast<size_t>(id.index)] = now_;
  }
  told_ = told;
  return ok_status();
}

/// Whether something that a node reads is another than it was, or what is told of what it makes.
bool Shapes::is_changed(const Node& node) const {
  const auto changed = [&](ValueId v) { return v.valid() && changed_at(v) == now_; };
  return std::any_of(node.inputs.begin(), node.inputs.end(), changed) ||
         std::any_of(node.captures.begin(), node.captures.end(), changed) ||
         std::any_of(node.outputs.begin(), node.outputs.end(), changed);
}

Shapes::State Shapes::state(ValueId id) const {
  const auto elements = elements_.find(id);
  return {graph_.value(id).type,
          elements == elements_.end() ? std::nullopt : std::optional(elements->second),
          known_[static_cast<size_t>(id.index)]};
}

void Shapes::note(ValueId id, const State& before) {
  const auto elements = elements_.find(id);
  const bool same_elements = elements == elements_.end()
                                 ? !before.elements
                                 : before.elements && *before.elements == elements->second;
  if (!same_elements || !identical_types(before.type, graph_.value(id).type) ||
      !same_tensor(before.known, known_[static_cast<size_t>(id.index)]))
    changed_at_[static_cast<size_t>(id.index)] = now_;
}

Status Shapes::infer(const Node& node) {
  if (!find_op(node.domain, node.op_type)) return ok_status();
  std::vector<OutputInfo> outputs = OCTET_TRY(infer_outputs(graph_, node.id, elements_));
  outputs.resize(node.outputs.size());
  bool only_types = true;
  for (size_t k = 0; k < outputs.size(); ++k) {
    const ValueId v = node.outputs[k];
    if (!v.valid()) continue;
    // What a run has made of a node is a fact, whatever its operator says.
    const auto made = typed_.find(v.index);
    outputs[k].type = made != typed_.end()
                          ? made->second
                          : filled_in(prepared_->graph.value(v).type, std::move(outputs[k].type));
    only_types = only_types && !outputs[k].value && known(v) == nullptr && elements_.count(v) == 0;
  }
  if (!only_types) return take_elements(node, std::move(outputs));
  for (size_t k = 0; k < outputs.size(); ++k) {
    const ValueId v = node.outputs[k];
    if (!v.valid() || identical_types(graph_.value(v).type, outputs[k].type)) continue;
    graph_.set_type(v, std::move(outputs[k].type));
    changed_at_[static_cast<size_t>(v.index)] = now_;
  }
  evaluate(node);
  for (const ValueId v : node.outputs)
    if (v.valid() && known(v) != nullptr) changed_at_[static_cast<size_t>(v.index)] = now_;
  return ok_status();
}

/// Takes over types and elements, of which there were some or are some now.
Status Shapes::take_elements(const Node& node, std::vector<OutputInfo> outputs) {
  std::vector<State> before;
  before.reserve(node.outputs.size());
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    const ValueId v = node.outputs[k];
    before.push_back(v.valid() ? state(v) : State{});
    if (!v.valid()) continue;
    graph_.set_type(v, std::move(outputs[k].type));
    if (told_.count(v) != 0) {
      if (known(v) == nullptr) OCTET_TRY(keep_elements(v));
      continue;
    }
    known_[static_cast<size_t>(v.index)] = Tensor{};
    if (outputs[k].value)
      elements_.insert_or_assign(v, std::move(*outputs[k].value));
    else
      elements_.erase(v);
    OCTET_TRY(keep_elements(v));
  }
  evaluate(node);
  for (size_t k = 0; k < node.outputs.size(); ++k)
    if (node.outputs[k].valid()) note(node.outputs[k], before[k]);
  return ok_status();
}

/// Makes a tensor of elements that are all known.
Status Shapes::keep_elements(ValueId id) {
  const auto found = elements_.find(id);
  if (found == elements_.end()) return ok_status();
  const TypeInfo& type = graph_.value(id).type;
  const auto shape = type.static_shape();
  if (!shape || shape->size() > 1) return ok_status();
  std::vector<int64_t> values;
  for (const Dim& d : found->second)
    if (const auto v = d.maybe_value()) values.push_back(*v);
  const int64_t count = shape->empty() ? 1 : shape->front();
  if (values.size() != found->second.size() || std::ssize(values) != count) return ok_status();
  known_[static_cast<size_t>(id.index)] =
      OCTET_TRY(integer_tensor(type.type, *shape, values)).aligned();
  return ok_status();
}

/// Evaluates a node whose inputs all follow from shapes, where its outputs are small or nothing
/// else tells their shapes (the end of a Range of floats).
void Shapes::evaluate(const Node& node) {
  const int64_t most = evaluated_[static_cast<size_t>(node.id.index)];
  if (most == 0) return;
  for (const ValueId v : node.inputs)
    if (v.valid() && elements_of(v) == nullptr) return;
  bool all_known = true;
  for (const ValueId v : node.outputs) {
    if (!v.valid()) continue;
    all_known = all_known && known(v) != nullptr;
    const auto count = element_count(graph_.value(v).type.static_shape().value_or(Shape{}));
    if (!count.ok() || *count > most) return;
  }
  if (all_known) return;
  EvalContext context{
      .node = node, .version = graph_.opset(node.domain), .inputs = {}, .run_body = {}, .seed = 0};
  for (const ValueId v : node.inputs)
    context.inputs.push_back(v.valid() ? elements_of(v)->aligned() : Tensor{});
  const OpDef* op = find_op(node.domain, node.op_type);
  const auto made = op->eval.fn(context);
  if (!made.ok()) return; // the run says what is wrong
  for (size_t k = 0; k < node.outputs.size() && k < made->size(); ++k) {
    const ValueId v = node.outputs[k];
    const Tensor& t = (*made)[k];
    if (!v.valid() || t.empty() || t.type() == DType::kString || known(v) != nullptr) continue;
    known_[static_cast<size_t>(v.index)] = t.aligned();
    graph_.set_type(v, tensor_type(t.type(), t.shape()));
    if (auto elements = small_integers(t)) elements_.insert_or_assign(v, std::move(*elements));
  }
}

} // namespace octet::runtime
