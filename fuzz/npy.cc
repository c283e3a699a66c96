// SPDX-License-Identifier: Apache-2.0
// .npy files: whatever the bytes are, an array or an error comes out.
#include "data/npy.h"

#include "replay/seeds.h"

namespace octet::fuzz {

std::vector<std::string> seeds() {
  std::vector<std::string> out;
  const auto add = [&](const Tensor& x) {
    const NpyParts parts = npy_parts(x).value();
    std::string file = parts.header;
    file.append(reinterpret_cast<const char*>(parts.elements.bytes().data()),
                parts.elements.bytes().size());
    out.push_back(file);
    const size_t at = file.find("False");
    out.push_back(file.replace(at, 5, "True "));
  };
  for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 3}})
    add(Tensor::zeros(DType::kFloat32, shape).value());
  add(Tensor::strings({2, 2}, {"a", "", "\xC3\xA9", "abc"}).value());
  return out;
}

} // namespace octet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto buffer = octet::Buffer::borrow(std::as_bytes(std::span(data, size)));
  const auto tensor = octet::parse_npy(buffer, 0, size, "input");
  if (tensor.ok()) static_cast<void>(tensor->content_hash());
  return 0;
}
