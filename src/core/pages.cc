// SPDX-License-Identifier: Apache-2.0
#include "core/pages.h"

#include <cstdint>
#include <filesystem>
#include <system_error>

#include "core/atomic_file.h"
#include <sys/mman.h>
#include <unistd.h>

namespace octet {

void page_out(std::span<const std::byte> bytes) {
  static const auto kPage = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<uintptr_t>(bytes.data());
  const size_t skip = (kPage - address % kPage) % kPage;
  if (bytes.size() < skip + kPage) return;
#ifdef MADV_PAGEOUT
  madvise(const_cast<std::byte*>(bytes.data()) + skip, (bytes.size() - skip) / kPage * kPage,
          MADV_PAGEOUT);
#endif
}

Result<Tensor> move_to_file(const Tensor& tensor) {
  std::error_code none;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(none);
  const std::string path = (none ? std::filesystem::path("/tmp") : folder) / "octet-tensor";
  AtomicFile file = OCTET_TRY_WITH(AtomicFile::create(path, Overwrite::kYes), "temporary file");
  OCTET_TRY_WITH(file.write(tensor.bytes()), "temporary file");
  auto mapped = OCTET_TRY_WITH(Buffer::map(file.temporary_path()), "temporary file");
  // The file has no name once `file` goes; the mapping outlives it.
  Tensor out = OCTET_TRY(Tensor::view(tensor.type(), tensor.shape(), std::move(mapped), 0));
  page_out(out.bytes());
  return out;
}

} // namespace octet
