// SPDX-License-Identifier: Apache-2.0
#include "core/shared_library.h"

#include "core/format.h"
#include <dlfcn.h>

namespace octet {

Result<SharedLibrary> SharedLibrary::open(std::initializer_list<const char*> names,
                                          const std::string& way_out) {
  std::string tried;
  for (const char* name : names) {
    if (void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE))
      return SharedLibrary(handle);
    const char* why = dlerror();
    tried += fmt::format("{}{}", tried.empty() ? "" : "; ", why != nullptr ? why : name);
  }
  return error(ErrorCode::kUnsupported, "cannot load a library ({}); {}", tried, way_out);
}

Result<void*> SharedLibrary::find(const char* name) const {
  void* address = dlsym(handle_, name);
  if (address == nullptr) {
    return error(ErrorCode::kUnsupported, "a loaded library has no function {}; update it", name);
  }
  return address;
}

} // namespace octet
