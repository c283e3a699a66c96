// SPDX-License-Identifier: Apache-2.0
// What Momentum, Adagrad and Adam (ai.onnx.preview.training) share: R (learning rate), T (number of
// earlier steps), then n tensors each of parameters, gradients and states; outputs are the n
// updated parameters, then the states.
#pragma once

#include <functional>

#include "ops/shared/types.h"

namespace octet {

/// One element: updates the parameter and its states from the gradient.
using OptimizerStep = std::function<void(
    double rate, int64_t steps, double& x, double gradient, std::span<double> states)>;

Result<std::vector<OutputInfo>> infer_optimizer(const InferContext& ctx, size_t states);
Result<std::vector<Tensor>>
eval_optimizer(InferFn* infer, const EvalContext& ctx, size_t states, const OptimizerStep& step);
/// Parameters are what is updated here, not trained through: all is data.
double float_attribute(const Node& node, const char* name, float otherwise);

} // namespace octet
