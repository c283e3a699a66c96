// SPDX-License-Identifier: Apache-2.0
// Libraries that are loaded only when something needs them, so that what never does starts fast.
#pragma once

#include <initializer_list>
#include <string>

#include "octet/result.h"

namespace octet {

/// A loaded library; it stays loaded until the process ends (OpenSSL does not bear unloading).
class SharedLibrary {
 public:
  /// The first of `names` that loads (see dlopen). The error lists what was tried and ends with
  /// `way_out`.
  static Result<SharedLibrary> open(std::initializer_list<const char*> names,
                                    const std::string& way_out);

  /// Sets a function pointer; an error names a function that is missing.
  template <class Function>
  Status load(const char* name, Function& function) const {
    void* address = OCTET_TRY(find(name));
    function = reinterpret_cast<Function>(address);
    return ok_status();
  }

 private:
  explicit SharedLibrary(void* handle) : handle_(handle) {}
  Result<void*> find(const char* name) const;
  void* handle_;
};

} // namespace octet
