// SPDX-License-Identifier: Apache-2.0
// TensorProto files, as test data has them.
#include "onnx/read_tensor.h"

#include "octet/onnx.h"

namespace octet {

Result<NamedTensor> parse_tensor_proto(std::shared_ptr<const Buffer> buffer) {
  const onnx::Source source{std::move(buffer), nullptr};
  onnx::ReadTensor read = OCTET_TRY(onnx::read_tensor(source.all(), source));
  return NamedTensor{std::move(read.name), std::move(read.tensor)};
}

Result<NamedTensor> read_tensor_proto(const std::string& path) {
  std::shared_ptr<const Buffer> buffer = OCTET_TRY(Buffer::map(path));
  return parse_tensor_proto(std::move(buffer)).with(path);
}

} // namespace octet
