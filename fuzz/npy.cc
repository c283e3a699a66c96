// SPDX-License-Identifier: Apache-2.0
// .npy files: whatever the bytes are, an array or an error comes out.
#include "data/npy.h"

#include "replay/seeds.h"

namespace octet::fuzz {

std::vector<std::string> seeds() {
  std::vector<std::string> out;
  for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 3}}) {
    const Tensor x = Tensor::zeros(DType::kFloat32, shape).value();
    std::string file = npy_header(x).value();
    file.append(reinterpret_cast<const char*>(x.bytes().data()), x.bytes().size());
    out.push_back(file);
    const size_t at = file.find("False");
    out.push_back(file.replace(at, 5, "True "));
  }
  return out;
}

} // namespace octet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto buffer = octet::Buffer::borrow(std::as_bytes(std::span(data, size)));
  const auto tensor = octet::parse_npy(buffer, 0, size, "input");
  if (tensor.ok()) static_cast<void>(tensor->content_hash());
  return 0;
}
