// SPDX-License-Identifier: Apache-2.0
// SparseTensorProto to a dense Tensor.
#pragma once

#include "onnx/read_tensor.h"

namespace octet::onnx {

/// Errors: indices out of range or out of order, more than 1 GiB when dense, external data.
Result<ReadTensor> read_sparse_tensor(Bytes message, const Source& source);

} // namespace octet::onnx
