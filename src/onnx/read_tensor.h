// SPDX-License-Identifier: Apache-2.0
// TensorProto to Tensor. Raw data becomes a view of the file.
#pragma once

#include <string>

#include "onnx/source.h"

namespace octet::onnx {

struct ReadTensor {
  std::string name;
  Tensor tensor;
  std::string
      fields; ///< serialized: doc string, metadata and fields that this reader does not know
};

Result<ReadTensor> read_tensor(Bytes message, const Source& source);

/// Key and value of a StringStringEntryProto.
Result<std::pair<std::string, std::string>> read_entry(Bytes message, const Source& source);

} // namespace octet::onnx
