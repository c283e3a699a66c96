// SPDX-License-Identifier: Apache-2.0
// Targets by name.
#include <algorithm>
#include <cctype>

#include "core/format.h"
#include "core/string_util.h"
#include "targets/custom.h"

#include "octet/target.h"

namespace octet {

std::vector<const TargetDef*> all_targets() {
  std::vector<const TargetDef*> out;
  for (const auto family : {tensorrt_targets(), onnxruntime_targets(), octet_targets()})
    for (const TargetDef& target : family)
      out.push_back(&target);
  return out;
}

std::vector<std::string_view> target_names() {
  std::vector<std::string_view> out;
  for (const TargetDef* target : all_targets())
    out.push_back(target->name);
  return out;
}

namespace {

/// "tensorrt-10.13" of "tensorrt-10.13.3.9": rules change with minor versions only.
std::string_view without_patch(std::string_view name) {
  const size_t minor = name.find('.');
  return minor == std::string_view::npos ? name : name.substr(0, name.find('.', minor + 1));
}

/// The targets of "tensorrt-" for "tensorrt-12".
std::vector<std::string_view> other_versions(std::string_view name) {
  const size_t dash = name.find('-');
  const bool has_version = dash != std::string_view::npos && dash + 1 < name.size() &&
                           std::isdigit(static_cast<unsigned char>(name[dash + 1])) != 0;
  std::vector<std::string_view> out;
  for (const std::string_view known : target_names())
    if (has_version && known.starts_with(name.substr(0, dash + 1)) &&
        known.find('.') != std::string_view::npos)
      out.push_back(known);
  return out;
}

} // namespace

Result<const TargetDef*> find_target(std::string_view name) {
  if (is_target_file(name)) return load_target(std::string(name));
  for (const TargetDef* target : all_targets())
    if (target->name == without_patch(name)) return target;
  if (const auto versions = other_versions(name); !versions.empty())
    return error(ErrorCode::kNotFound, "unknown target \"{}\"; known are {} to {}", name,
                 versions.front(), versions.back());
  const std::vector<std::string_view> known = target_names();
  const std::vector<std::string> names(known.begin(), known.end());
  return error(ErrorCode::kNotFound, "unknown target \"{}\"{}", name, suggestion(name, names));
}

Result<std::string> parse_target(std::string_view name) {
  return std::string(OCTET_TRY(find_target(name))->name);
}

Result<const Placement*> find_placement(std::string_view target) {
  return OCTET_TRY(find_target(target))->placement;
}

} // namespace octet
