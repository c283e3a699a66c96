// SPDX-License-Identifier: Apache-2.0
#include "core/component.h"

#include <filesystem>

#include "core/format.h"
#include <dlfcn.h>

#include "octet/version.h"

namespace octet {
namespace {

/// The folder of the library that this function is in; empty when it is unknown.
std::filesystem::path own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&own_folder), &info) == 0 || info.dli_fname == nullptr)
    return {};
  std::error_code ignored;
  return std::filesystem::absolute(info.dli_fname, ignored).lexically_normal().parent_path();
}

} // namespace

Result<void*> component_entry(const Component& component) {
  const std::filesystem::path beside = own_folder() / component.library;
  std::error_code ignored;
  const bool here = std::filesystem::exists(beside, ignored);
  void* library = dlopen(here ? beside.c_str() : component.library, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    if (here)
      return error(ErrorCode::kUnsupported, "cannot load {}: {}; {}", beside.string(),
                   reason == nullptr ? "no reason given" : reason, component.restore);
    return error(
        ErrorCode::kUnsupported,
        "this octet was built without {} ({} is neither in {} nor on the library path); {}",
        component.needs, component.library, own_folder().string(), component.build);
  }
  void* entry = dlsym(library, component.entry);
  if (entry == nullptr)
    return error(ErrorCode::kUnsupported, "{} has no {}; build octet again", component.library,
                 component.entry);
  return entry;
}

Status check_component_version(const Component& component, std::string_view built) {
  if (built == version()) return ok_status();
  return error(ErrorCode::kUnsupported,
               "{} is of octet {} and liboctet is {}; install them together", component.library,
               built, version());
}

} // namespace octet
