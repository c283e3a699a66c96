// SPDX-License-Identifier: Apache-2.0
// Every tensor of a quantized model beside the float one's, and what each layer does to the outputs
// when it is quantized alone.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/progress.h"
#include "quant/see/layers.h"
#include "quant/see/pairs.h"
#include "quant/see/tensor_view.h"
#include "quant/see/trials.h"

namespace octet {

struct LookOptions {
  ExecutorFactory executor; ///< empty: the reference
  std::string mask_input;   ///< as QuantizeOptions
  const CancelToken* cancel = nullptr;
  std::function<void(int64_t done)> progress; ///< examples
};

struct Looked {
  std::vector<TensorView> values;  ///< of pairs.values
  std::vector<TensorView> weights; ///< of pairs.weights
  int64_t examples = 0;            ///< that were seen when it was stopped, or all
};

/// Runs both models beside each other over a source of batches, which fits the inputs of both.
/// Stops with what is there when `cancel` is raised. Errors: what cannot be run, shapes that differ.
Result<Looked> look(const Graph& prepared,
                    const Graph& quantized,
                    const ModelPairs& pairs,
                    const CalibrationSource& source,
                    const LookOptions& options);

/// Noise over power of the outputs, the mean over those that are float, and the mean of their
/// cosines.
struct OutputsLooked {
  double sqnr_db = 0, cosine = 1;
};
OutputsLooked outputs_of(const ModelPairs& pairs, const Looked& looked);

/// Layers in the order of what they may cost: the error of their tensors, each on its grid alone.
std::vector<QuantizedLayer> by_own_error(std::vector<QuantizedLayer> layers, const Looked& looked);

} // namespace octet
