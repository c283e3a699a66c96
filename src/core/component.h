// SPDX-License-Identifier: Apache-2.0
// The optional libraries of octet itself: built only where what they need is installed, loaded when
// something first needs them, so that liboctet links neither LibTorch nor TensorRT.
#pragma once

#include <string>
#include <string_view>

#include "octet/result.h"

namespace octet {

struct Component {
  const char* library; ///< "liboctet_train.so"
  const char* entry;   ///< its one C function, which returns the component's only object
  const char* needs;   ///< what it was built with: "LibTorch"
  std::string build;   ///< the way out where the library is missing
  std::string restore; ///< the way out where it is there and does not load
};

/// Loads the library, from beside liboctet if it is there, else from the library path, and finds
/// its entry. Errors: one line that says where it was looked for, or why it does not load, and the
/// way out.
Result<void*> component_entry(const Component& component);
/// Refuses a component that was built with another version of octet.
Status check_component_version(const Component& component, std::string_view built);

/// The object of a component that tells the `octet_version` it was built with.
template <class Api>
Result<Api*> open_component(const Component& component) {
  const auto entry = reinterpret_cast<Api* (*)()>(OCTET_TRY(component_entry(component)));
  Api* api = entry();
  OCTET_TRY(check_component_version(component, api->octet_version()));
  return api;
}

} // namespace octet
