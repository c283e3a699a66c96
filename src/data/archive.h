// SPDX-License-Identifier: Apache-2.0
// Unpacking .tar.gz and .zip by libarchive, which is loaded on first use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "core/progress.h"

#include "octet/result.h"

namespace octet {

/// Beyond what an archive is expected to hold it is refused.
struct ArchiveLimits {
  int64_t files = 0;
  int64_t bytes = 0; ///< unpacked, of all files together
};

/// Takes what an archive holds: every file by its name, then its bytes.
struct ArchiveSink {
  std::function<Status(const std::string& name)> begin_file;
  std::function<Status(std::span<const std::byte>)> add;
};

/// Hands the files of an archive to the sink, in its order. Folders are left out. Errors: damaged,
/// encrypted, a link or a device, a name that is absolute or leads outside, one that comes twice, a
/// limit.
Status read_archive(std::span<const std::byte> bytes,
                    const std::string& name,
                    const ArchiveLimits& limits,
                    const ArchiveSink& sink);

/// Unpacks the folder `top` of an archive to `parent`/`top`, which appears when it is whole. What
/// lies beside it in the archive is left out. Errors: as read_archive; nothing in `top`.
Status unpack_folder(const std::string& archive,
                     const std::string& parent,
                     const std::string& top,
                     const ArchiveLimits& limits,
                     const Callbacks& callbacks = {});

} // namespace octet
