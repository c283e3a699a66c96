// SPDX-License-Identifier: Apache-2.0
// Indices as operators of ONNX have them, for LibTorch's.
#pragma once

#include "train/ops/mapping.h"

namespace octet::train {

/// Indices as i64 on the device of the data, from 0 to size - 1; negative ones count from the end.
at::Tensor wrapped_indices(const at::Tensor& indices, const at::Tensor& data, int64_t size);
/// The index tensors for GatherND and ScatterND: one for each axis that the last axis of `indices`
/// spans, after `batch` leading axes.
std::vector<at::Tensor>
nd_indices(const at::Tensor& indices, const at::Tensor& data, int64_t batch);

} // namespace octet::train
