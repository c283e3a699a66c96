// SPDX-License-Identifier: Apache-2.0
// Targets by name.
#include <algorithm>
#include <cctype>
#include <optional>

#include "core/format.h"
#include "core/string_util.h"
#include "targets/custom/target.h"

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

/// Whether a name goes on with a dash and a version.
bool has_version(std::string_view rest) {
  return rest.size() > 1 && rest[0] == '-' &&
         std::isdigit(static_cast<unsigned char>(rest[1])) != 0;
}

/// The newest target of "tensorrt", as the lists end with it.
std::optional<std::string_view> newest_version(std::string_view family) {
  std::optional<std::string_view> out;
  for (const std::string_view known : target_names())
    if (known.starts_with(family) && has_version(known.substr(family.size()))) out = known;
  return out;
}

/// The targets of "tensorrt-" for "tensorrt-12".
std::vector<std::string_view> other_versions(std::string_view name) {
  const size_t dash = name.find('-');
  const bool versioned = dash != std::string_view::npos && has_version(name.substr(dash));
  std::vector<std::string_view> out;
  for (const std::string_view known : target_names())
    if (versioned && known.starts_with(name.substr(0, dash + 1)) &&
        known.find('.') != std::string_view::npos)
      out.push_back(known);
  return out;
}

/// A built-in target, which nobody need own.
std::shared_ptr<const TargetDef> built_in(const TargetDef* target) {
  return {std::shared_ptr<void>(), target};
}

} // namespace

Result<std::shared_ptr<const TargetDef>> find_target(std::string_view name) {
  if (is_target_file(name)) return load_target(std::string(name));
  for (const TargetDef* target : all_targets())
    if (target->name == without_patch(name)) return built_in(target);
  if (const auto versions = other_versions(name); !versions.empty())
    return error(ErrorCode::kNotFound, "unknown target \"{}\"; known are {} to {}", name,
                 versions.front(), versions.back());
  if (const auto newest = newest_version(name.substr(0, name.find_last_not_of('-') + 1)))
    return error(ErrorCode::kNotFound, "unknown target \"{}\"; did you mean \"{}\", the newest?",
                 name, *newest);
  const std::vector<std::string_view> known = target_names();
  const std::vector<std::string> names(known.begin(), known.end());
  return error(ErrorCode::kNotFound, "unknown target \"{}\"{}", name, suggestion(name, names));
}

Result<std::string> parse_target(std::string_view name) {
  return std::string(OCTET_TRY(find_target(name))->name);
}

Result<std::shared_ptr<const Placement>> find_placement(std::string_view target) {
  const auto def = OCTET_TRY(find_target(target));
  return std::shared_ptr<const Placement>(def, def->placement);
}

} // namespace octet
