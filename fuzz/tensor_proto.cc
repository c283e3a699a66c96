// SPDX-License-Identifier: Apache-2.0
// Reads bytes as a TensorProto. What opens must be written and read back the same.
#include <cstdlib>
#include <vector>

#include "borrow.h"
#include "replay/seeds.h"

#include "octet/onnx.h"

namespace octet::fuzz {

std::vector<std::string> seeds() {
  const std::vector<double> values = {0, 1, 1, 0, 1};
  std::vector<std::string> out;
  for (int code = 1; code <= 28; ++code) {
    const auto type = static_cast<DType>(code);
    const Result<Tensor> t = Tensor::from_doubles(type, {5}, values);
    if (t.ok()) out.push_back(serialize_tensor_proto({std::string(name(type)), *t}));
  }
  out.push_back(serialize_tensor_proto({"text", *Tensor::strings({2}, {"a", "bc"})}));
  // The same five values in int32_data, packed and not, and in float_data.
  out.emplace_back("\x08\x05\x10\x03\x2a\x05\x00\x01\x01\x00\x01", 11);
  out.emplace_back("\x08\x02\x10\x06\x28\x00\x28\x01", 8);
  out.emplace_back("\x08\x01\x10\x01\x22\x04\x00\x00\x80\x3f", 10);
  return out;
}

} // namespace octet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  const octet::Result<octet::NamedTensor> tensor =
      octet::parse_tensor_proto(octet::fuzz::borrow(input));
  if (!tensor.ok()) return 0;
  const std::string bytes = octet::serialize_tensor_proto(*tensor);
  const octet::Result<octet::NamedTensor> again =
      octet::parse_tensor_proto(octet::fuzz::borrow(bytes));
  if (!again.ok() || !again->tensor.identical(tensor->tensor)) std::abort();
  return 0;
}
