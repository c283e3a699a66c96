// SPDX-License-Identifier: Apache-2.0
// What If, Loop and Scan share: their bodies and joining types.
#pragma once

#include "ops/shared/types.h"

namespace octet {

/// The subgraph of an attribute. Errors: there is none.
Result<GraphPtr> body_of(const Node& node, const char* attribute);
/// The types that the body gives for types of its inputs; unknown ones without a way to infer them.
Result<std::vector<TypeInfo>>
infer_body(const InferContext& ctx, const Graph& body, std::span<const TypeInfo> inputs);
/// Runs the body once. Errors: it gives another number of values than it has outputs.
Result<std::vector<Tensor>>
run_body(const EvalContext& ctx, const Graph& body, std::span<const Tensor> inputs);

/// What holds of a value that has one of two types: dimensions that differ become unknown.
TypeInfo either(const TypeInfo& a, const TypeInfo& b);
/// A type with one dimension more, at `axis`.
TypeInfo stacked(const TypeInfo& element, const Dim& count, int64_t axis = 0);

} // namespace octet
