// SPDX-License-Identifier: Apache-2.0
//   Loop {body: x ─▶ MatMul(x, w) ─▶ y}     =>     Loop {body: x ─▶ octet.native.Gemm {w packed} ─▶ y}
// A body is lowered like a graph: what it captures are inputs meanwhile.
#include "graph/bodies.h"

#include <algorithm>

#include "ops/infer.h"
#include "passes/lower/context.h"

namespace octet::lowering {
namespace {

std::vector<ValueId> captures_in(const Graph& body) {
  std::vector<ValueId> out;
  for (int32_t i = 0; i < body.value_bound(); ++i)
    if (body.value(ValueId{i}).kind == ValueKind::kCapture) out.push_back(ValueId{i});
  return out;
}

/// `captured`: for each capture of the body, in order of id, the value of the source.
Result<Graph> lowered_body(const Graph& body, bool integer, std::vector<ValueId>& captured) {
  Graph source = body;
  std::vector<ValueId> inputs = source.inputs();
  const size_t own = inputs.size();
  for (const ValueId id : captures_in(source)) {
    captured.push_back(source.value(id).captured);
    inputs.push_back(id);
  }
  source.set_inputs(inputs);
  Graph out = OCTET_TRY(lower(source, {.integer = integer})).graph;
  inputs = out.inputs();
  const std::vector<TypeInfo> types = [&] {
    std::vector<TypeInfo> all;
    all.reserve(inputs.size());
    for (const ValueId id : inputs)
      all.push_back(out.value(id).type);
    return all;
  }();
  const Uses uses(out);
  out.set_inputs({inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(own)});
  for (size_t i = own; i < inputs.size(); ++i) {
    // Only a constant becomes a capture.
    out.set_constant(inputs[i], Tensor::scalar<float>(0));
    if (uses.count(inputs[i]) == 0) {
      out.remove_value(inputs[i]);
      continue;
    }
    out.set_captured(inputs[i], captured[i - own]);
    out.set_type(inputs[i], types[i]);
  }
  return out;
}

} // namespace

void lower_bodies(Context& c, const Node& node, Node& made) {
  if (!has_bodies(node)) return;
  made.captures.clear();
  const BodyTypes types = types_into_bodies(c.in(), node);
  for (const MutableBody& body : bodies_of(made)) {
    std::vector<ValueId> captured;
    Result<Graph> lowered =
        lowered_body(typed_body(c.in(), *body.graph, types), c.integer(), captured);
    auto copy = lowered.ok() ? std::make_shared<Graph>(std::move(*lowered))
                             : std::make_shared<Graph>(*body.graph);
    for (const ValueId id : captures_in(*copy)) {
      const ValueId outer = c.plain(copy->value(id).captured).id;
      copy->set_captured(id, outer);
      if (std::find(made.captures.begin(), made.captures.end(), outer) == made.captures.end())
        made.captures.push_back(outer);
    }
    body.graph = std::move(copy);
  }
}

} // namespace octet::lowering
