// SPDX-License-Identifier: Apache-2.0
// Opens external data, and only inside its folder. Source: onnx.proto, TensorProto.external_data.
#include "onnx/external.h"

#include <algorithm>
#include <filesystem>

#include "core/format.h"

namespace octet::onnx {
namespace {

namespace fs = std::filesystem;

Status check_location(const std::string& location) {
  if (location.empty()) return error("external data has no location");
  if (location.find('\0') != std::string::npos)
    return error("external data: the location holds a zero byte");
  const fs::path path(location);
  if (path.is_absolute() || location.front() == '\\')
    return error("external data \"{}\": absolute paths are refused; put the file beside the model",
                 location);
  for (const fs::path& part : path)
    if (part == "..")
      return error("external data \"{}\": \"..\" is refused; put the file beside the model",
                   location);
  return ok_status();
}

} // namespace

Result<std::shared_ptr<const Buffer>> ExternalFiles::open(const std::string& location) {
  const auto found = files_.find(location);
  if (found != files_.end()) return found->second;
  if (folder_.empty())
    return error("external data \"{}\": the model came without a folder; load it from its file or "
                 "give the folder",
                 location);
  OCTET_TRY(check_location(location));
  std::error_code failed;
  const fs::path root = fs::canonical(folder_, failed);
  if (failed)
    return error(ErrorCode::kNotFound, "external data: folder \"{}\": {}", folder_,
                 failed.message());
  const fs::path real = fs::canonical(root / location, failed);
  if (failed)
    return error(ErrorCode::kNotFound, "external data \"{}\": {} in {}", location, failed.message(),
                 root.string());
  const auto [inside, end] = std::mismatch(root.begin(), root.end(), real.begin(), real.end());
  if (inside != root.end())
    return error("external data \"{}\": is a link that leads out of {}; put the file itself there",
                 location, root.string());
  if (!fs::is_regular_file(real, failed))
    return error("external data \"{}\": is no regular file", location);
  std::shared_ptr<const Buffer> file =
      OCTET_TRY_WITH(Buffer::map(real.string()), fmt::format("external data \"{}\"", location));
  files_.emplace(location, file);
  return file;
}

std::vector<std::string> ExternalFiles::locations() const {
  std::vector<std::string> out;
  out.reserve(files_.size());
  for (const auto& [location, file] : files_)
    out.push_back(location);
  return out;
}

} // namespace octet::onnx
