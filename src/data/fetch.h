// SPDX-License-Identifier: Apache-2.0
// Downloads of public data sets: size and SHA-256 of every file are known beforehand, an
// interrupted download continues where it stopped, a file appears only when it is whole.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/progress.h"

#include "octet/result.h"

namespace octet {

struct RemoteFile {
  std::string name;
  int64_t size_bytes = 0;
  std::string sha256;
};

struct RemoteDataset {
  std::string name;
  std::vector<RemoteFile> files;
  std::vector<std::string> mirrors; ///< base addresses, tried in order
};

/// The data sets that can be fetched: fashion-mnist.
std::span<const RemoteDataset> remote_datasets();

/// `$XDG_CACHE_HOME/octet/data/NAME`, or the same under `~/.cache`.
Result<std::string> dataset_cache_folder(std::string_view name);

/// Puts every file of the data set into `folder` (made when missing) and returns when all are there
/// and checked. Files that are there and right are kept. Errors: all mirrors failed (each with its
/// reason), not enough permission, another download is running there, cancelled.
Status fetch_dataset(const RemoteDataset& dataset,
                     const std::string& folder,
                     const Callbacks& callbacks = {});
/// By name; `base_url`, when not empty, replaces the mirrors.
Status fetch_dataset(std::string_view name,
                     const std::string& folder,
                     const std::string& base_url = {},
                     const Callbacks& callbacks = {});

} // namespace octet
