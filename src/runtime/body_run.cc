// SPDX-License-Identifier: Apache-2.0
#include "runtime/body_run.h"

#include <algorithm>
#include <optional>

#include "core/format.h"
#include "graph/bodies.h"
#include "ops/infer.h"

namespace octet::runtime {
namespace {

/// The body with captures as inputs, constants among them as constants.
Result<std::shared_ptr<const PreparedGraph>> prepare_body(Graph body,
                                                          const Node& node,
                                                          const PrepareContext& outer,
                                                          std::vector<size_t>& captures) {
  std::vector<ValueId> inputs = body.inputs();
  for (int32_t i = 0; i < body.value_bound(); ++i) {
    const Value& v = body.value(ValueId{i});
    if (v.kind != ValueKind::kCapture) continue;
    const auto found = std::find(node.captures.begin(), node.captures.end(), v.captured);
    if (found == node.captures.end())
      return error("captured \"{}\" is not among the captures of the node", v.name);
    captures.push_back(static_cast<size_t>(found - node.captures.begin()));
    inputs.push_back(v.id);
  }
  body.set_inputs(std::move(inputs));
  // The attribute holds on to the weights in any case.
  return prepare_graph(
      std::move(body),
      {.isa = outer.isa, .keep_weights = true, .store = outer.store, .memory = outer.memory});
}

Status check_types(const Graph& body, std::span<const Tensor> given) {
  if (given.size() != body.inputs().size())
    return error("the body has {} inputs but got {}", body.inputs().size(), given.size());
  for (size_t i = 0; i < given.size(); ++i) {
    const Value& v = body.value(body.inputs()[i]);
    bool fits = given[i].type() == v.type.type;
    if (fits && v.type.shape) {
      fits = v.type.rank() == given[i].rank();
      for (size_t k = 0; fits && k < v.type.shape->size(); ++k) {
        const Dim& d = (*v.type.shape)[k];
        fits = !d.is_constant() || d.value() == given[i].shape()[k];
      }
    }
    if (!fits)
      return error("input \"{}\" of the body is {} but got {}{}", v.name, v.type.text(),
                   name(given[i].type()), to_string(given[i].shape()));
  }
  return ok_status();
}

} // namespace

std::vector<PreparedBody> prepare_bodies(const PrepareContext& outer, const Node& node) {
  std::vector<PreparedBody> out;
  const BodyTypes types = types_into_bodies(outer.graph, node);
  for (const auto& [key, body] : bodies_of(node)) {
    PreparedBody one{body.get(), key, Error("not prepared"), {}};
    one.prepared = prepare_body(typed_body(outer.graph, *body, types), node, outer, one.captures);
    out.push_back(std::move(one));
  }
  return out;
}

std::vector<PlannedNode> BodyRun::planned() const {
  if (plan_) return plan_->planned();
  return body_->prepared.ok() ? (*body_->prepared)->planned : std::vector<PlannedNode>();
}

Result<std::span<const Tensor>> BodyRun::operator()(std::span<const Tensor> inputs,
                                                    std::span<const Tensor> captured,
                                                    ParallelFor& parallel) {
  const auto prepared = OCTET_TRY(body_->prepared);
  std::vector<Tensor> given;
  for (const Tensor& t : inputs)
    given.push_back(t.aligned());
  for (const size_t i : body_->captures)
    given.push_back(captured[i].aligned());
  OCTET_TRY(check_types(prepared->graph, given));
  if (!plan_) plan_ = std::make_unique<Plan>(prepared);
  Binding* binding = OCTET_TRY(plan_->at(given, Outputs::kKept));
  std::vector<const std::byte*> bytes;
  bytes.reserve(given.size());
  for (const Tensor& t : given)
    bytes.push_back(slot_of(t));
  return binding->run(bytes, parallel);
}

} // namespace octet::runtime
