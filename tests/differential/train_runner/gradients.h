// SPDX-License-Identifier: Apache-2.0
// Gradients of the torch executor, and its values in double, against the reference executor.
#pragma once

#include "runner/answers.h"

namespace octet::differential {

/// Adds findings, and counts: "elements tried", "elements at kinks", "gradients tried", and why a
/// graph was not: "not tried: ...". `variant` chooses the set of inputs and the elements.
void answer_gradients(const Graph& graph, const InputSets& sets, int64_t variant, Answers& answers);

} // namespace octet::differential
