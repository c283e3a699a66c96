// SPDX-License-Identifier: Apache-2.0
#include "core/pages.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

#include "core/format.h"
#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

namespace octet {

namespace {

Result<Tensor> move_to_file(const Tensor& tensor) {
  std::error_code none;
  std::filesystem::path folder = std::filesystem::temp_directory_path(none);
  if (none) folder = "/tmp";
  std::string path = (folder / "octet-tensor-XXXXXX").string();
  const int file = mkostemp(path.data(), O_CLOEXEC);
  const auto failed = [&](const char* what) {
    return error("cannot {} a temporary file in {}: {}; TMPDIR names another folder", what,
                 folder.string(), std::strerror(errno));
  };
  if (file < 0) return failed("make");
  std::span<const std::byte> left = tensor.bytes();
  bool written = true;
  while (written && !left.empty()) {
    const ssize_t n = ::write(file, left.data(), std::min(left.size(), kPieceBytes));
    written = n > 0 || (n < 0 && errno == EINTR);
    if (n > 0) left = left.subspan(static_cast<size_t>(n));
  }
  const Error full = failed("write");
  ::close(file);
  Result<std::shared_ptr<Buffer>> mapped = Buffer::map(path);
  ::unlink(path.c_str()); // the mapping outlives its name
  if (!written) return full;
  Tensor out = OCTET_TRY(Tensor::view(tensor.type(), tensor.shape(), OCTET_TRY(mapped), 0));
  out.page_out();
  return out;
}

} // namespace

Result<Tensor> MadeTensors::keep(const Tensor& tensor) {
  bytes_ += tensor.bytes().size();
  return bytes_ > bytes_in_memory_ ? move_to_file(tensor) : tensor;
}

void give_back_freed_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

} // namespace octet
