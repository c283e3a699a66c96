// SPDX-License-Identifier: Apache-2.0
//   Loop(m, c, w, x) {i, c, w, x ─▶ c, w, f(w, x)}      =>      Loop(m, c, x) {captures w: i, c, x ─▶ c, f(w, x)}
//   (also the states of Scan)
// Exact. What is carried and never changes is one value in every iteration: constants become
// constants of the body, and nothing is copied from one to the next.
#include <algorithm>

#include "passes/match.h"
#include "passes/simplify/rules.h"

namespace octet {

namespace {

/// Where carried values stand: in the inputs of the node and of its body, and behind its outputs.
struct Carried {
  size_t count = 0;
  size_t first = 0; ///< input of the node and of the body
  size_t back = 0;  ///< output of the body
};

std::optional<Carried> carried_by(const Node& node, const Graph& body) {
  if (node.is("Loop") && node.inputs.size() >= 2) return Carried{node.inputs.size() - 2, 2, 1};
  const int64_t scanned = node.attr_int("num_scan_inputs", 0);
  const auto inputs = static_cast<int64_t>(node.inputs.size());
  if (!node.is("Scan") || scanned < 1 || scanned > inputs ||
      body.inputs().size() != node.inputs.size())
    return std::nullopt;
  return Carried{static_cast<size_t>(inputs - scanned), 0, 0};
}

/// The value that `id` is, behind nodes that change nothing.
ValueId unchanged(const Graph& body, ValueId id) {
  for (const Node* made = body.producer(id); made != nullptr && made->is("Identity");
       made = body.producer(id))
    id = made->input(0);
  return id;
}

void erase_at(auto& list, std::span<const size_t> places) {
  for (size_t k = places.size(); k-- > 0;)
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(places[k]));
}

std::vector<size_t> shifted(std::span<const size_t> places, size_t by) {
  std::vector<size_t> out(places.begin(), places.end());
  for (size_t& place : out)
    place += by;
  return out;
}

} // namespace

std::optional<Patch> free_loop_invariants(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  const Attribute* attribute = node.attr("body");
  const auto* held = attribute != nullptr ? std::get_if<GraphPtr>(&attribute->value) : nullptr;
  if (held == nullptr || *held == nullptr) return std::nullopt;
  const auto carried = carried_by(node, **held);
  if (!carried) return std::nullopt;
  Graph body = **held;
  if (body.inputs().size() < carried->first + carried->count ||
      body.outputs().size() < carried->back + carried->count)
    return std::nullopt;
  std::vector<size_t> free;
  for (size_t k = 0; k < carried->count; ++k) {
    const ValueId inside = body.inputs()[carried->first + k],
                  outer = node.input(carried->first + k);
    const bool stays =
        outer.valid() && unchanged(body, body.outputs()[carried->back + k]) == inside;
    const ValueId result = k < node.outputs.size() ? node.outputs[k] : ValueId{};
    if (stays && (!result.valid() || can_replace(g, result, outer))) free.push_back(k);
  }
  // Something is left to say when the loop is wanted at all.
  if (free.empty() || body.outputs().size() - free.size() == carried->back) return std::nullopt;

  std::vector<ValueId> inputs = node.inputs, outputs = node.outputs, captures = node.captures;
  std::vector<ValueId> inside;
  for (const size_t k : free) {
    inside.push_back(body.inputs()[carried->first + k]);
    captures.push_back(inputs[carried->first + k]);
  }
  std::vector<ValueId> given = body.outputs();
  erase_at(given, shifted(free, carried->back));
  body.set_outputs(std::move(given));
  for (size_t i = 0; i < free.size(); ++i)
    body.set_captured(inside[i], inputs[carried->first + free[i]]);
  body.remove_dead();
  erase_at(inputs, shifted(free, carried->first));
  std::sort(captures.begin(), captures.end());
  captures.erase(std::unique(captures.begin(), captures.end()), captures.end());

  Patch patch(g, "what it carries never changes", Exactness::kExact);
  patch.from(node);
  Attributes attributes = node.attributes;
  const size_t left = body.outputs().size() - carried->back;
  attributes["body"].value = std::make_shared<const Graph>(std::move(body));
  const ValueId first = patch.emit(node.op_type, std::move(inputs), std::move(attributes),
                                   node.name, node.domain, static_cast<int>(left));
  patch.capture(first, std::move(captures));
  int next = 0;
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    const bool is_free = std::find(free.begin(), free.end(), k) != free.end();
    const ValueId now = is_free ? node.input(carried->first + k) : patch.output(first, next);
    if (!is_free) ++next;
    if (node.outputs[k].valid()) patch.replace(node.outputs[k], now);
  }
  return patch;
}

} // namespace octet
