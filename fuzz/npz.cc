// SPDX-License-Identifier: Apache-2.0
// .npz archives: whatever the bytes are, arrays or an error come out, within bounds of memory.
#include "data/npz.h"

#include <filesystem>

#include "replay/seeds.h"
#include <unistd.h>

namespace octet::fuzz {

std::vector<std::string> seeds() {
  const auto path = std::filesystem::temp_directory_path() /
                    ("octet_fuzz_npz_" + std::to_string(getpid()) + ".npz");
  const NamedTensors tensors = {{"x", Tensor::of<float>({2}, {1, 2})},
                                {"y", Tensor::of<int64_t>({1}, {3})}};
  std::vector<std::string> out;
  if (write_npz(path.string(), tensors, Overwrite::kYes).ok())
    out.push_back(read_file(path.string(), 1 << 20).value());
  std::filesystem::remove(path);
  return out;
}

} // namespace octet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::shared_ptr<const octet::Buffer> buffer =
      octet::Buffer::borrow(std::as_bytes(std::span(data, size)));
  const auto tensors = octet::parse_npz(buffer, "input", 1 << 22);
  if (!tensors.ok()) return 0;
  for (const auto& [name, tensor] : *tensors)
    static_cast<void>(tensor.content_hash());
  return 0;
}
