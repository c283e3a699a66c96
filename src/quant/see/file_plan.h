// SPDX-License-Identifier: Apache-2.0
// The plan that a quantized file would have been made by, read off the file itself.
#pragma once

#include "quant/placement.h"
#include "quant/see/pairs.h"

#include "octet/quantize.h"

namespace octet {

/// Ranges are what the file's codes stand for, the nodes' entries what is in codes around them. It
/// says nothing of steps, trained weights and biases that were moved: the weights become codes from
/// the float network's. Static plans and weight-only ones; of others nothing is quantized.
QuantizationPlan
plan_of_file(const Graph& prepared, const ModelPairs& pairs, const Placement& placement);

/// "octet", "onnxruntime" or the newest TensorRT, by the form of weights and biases: whose files
/// look like this one.
enum class FileStyle { kStoredWeights, kInt32Biases, kFloatWeights };
FileStyle file_style(const Graph& quantized, const ModelPairs& pairs);

} // namespace octet
