// SPDX-License-Identifier: Apache-2.0
// Downloads of public data sets and models: size and checksum of every file are known beforehand,
// an interrupted download continues where it stopped, a file appears only when it is whole.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/progress.h"
#include "data/archive.h"

#include "octet/result.h"

namespace octet {

struct RemoteFile {
  std::string name;
  int64_t size_bytes = 0;
  std::string sha256; ///< empty: by `git_id`
  std::string git_id; ///< of a file that git keeps; empty with `sha256` empty: by its size alone
};

/// The one file is an archive: a folder of it is unpacked, and the archive goes.
struct RemoteArchive {
  std::string top;
  ArchiveLimits limits;
};

struct RemoteDataset {
  std::string name;
  std::vector<RemoteFile> files;
  std::vector<std::string> mirrors; ///< base addresses, tried in order
  std::optional<RemoteArchive> archive = {};
  std::vector<std::string> headers = {}; ///< see HttpRequest
  /// What else can be done where no mirror has it: the end of that error.
  std::string otherwise = {};
};

/// The data sets that can be fetched: fashion-mnist, mnist, imdb, sst2.
std::span<const RemoteDataset> remote_datasets();

/// `$XDG_CACHE_HOME/octet/KIND/NAME`, or the same under `~/.cache`.
Result<std::string> cache_folder(std::string_view kind, std::string_view name);
/// cache_folder("data", name).
Result<std::string> dataset_cache_folder(std::string_view name);
/// What `--data` takes of a data set that was fetched to a folder: `imdb:FOLDER/aclImdb`.
std::string dataset_spec(const RemoteDataset& dataset, const std::string& folder);

/// Puts every file of the data set into `folder` (made when missing) and returns when all are there
/// and checked. Files that are there and right are kept. Errors: all mirrors failed (each with its
/// reason), not enough permission, another download is running there, cancelled.
Status fetch_dataset(const RemoteDataset& dataset,
                     const std::string& folder,
                     const Callbacks& callbacks = {});
/// By name; `base_url`, when not empty, replaces the mirrors. Returns what `--data` takes.
Result<std::string> fetch_dataset(std::string_view name,
                                  const std::string& folder,
                                  const std::string& base_url = {},
                                  const Callbacks& callbacks = {});

} // namespace octet
