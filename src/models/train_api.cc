// SPDX-License-Identifier: Apache-2.0
// Loads liboctet_train.so and hands out its one object. liboctet itself never links LibTorch.
#include <filesystem>
#include <mutex>
#include <string>

#include "core/format.h"
#include <dlfcn.h>

#include "octet/train.h"
#include "octet/version.h"

namespace octet {
namespace {

constexpr const char* kLibrary = "liboctet_train.so";

/// The folder of the library that this function is in; empty when it is unknown.
std::filesystem::path own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&own_folder), &info) == 0 || info.dli_fname == nullptr)
    return {};
  std::error_code ignored;
  return std::filesystem::absolute(info.dli_fname, ignored).parent_path();
}

Result<TrainApi*> load() {
  const std::filesystem::path beside = own_folder() / kLibrary;
  std::error_code ignored;
  const bool here = std::filesystem::exists(beside, ignored);
  void* library = dlopen(here ? beside.c_str() : kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    if (here)
      return error(ErrorCode::kUnsupported,
                   "cannot load {}: {}; run tools/setup to restore LibTorch", beside.string(),
                   reason == nullptr ? "no reason given" : reason);
    return error(ErrorCode::kUnsupported,
                 "this octet was built without LibTorch ({} is neither in {} nor on the library "
                 "path); build with -DOCTET_TRAIN=ON",
                 kLibrary, own_folder().string());
  }
  using Entry = TrainApi* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(library, "octet_train_api"));
  if (entry == nullptr)
    return error(ErrorCode::kUnsupported, "{} has no octet_train_api; build octet again", kLibrary);
  TrainApi* api = entry();
  if (api->octet_version() != version())
    return error(ErrorCode::kUnsupported,
                 "{} is of octet {} and liboctet is {}; install them together", kLibrary,
                 api->octet_version(), version());
  return api;
}

} // namespace

Result<TrainApi*> train_api() {
  static std::mutex mutex;
  static TrainApi* loaded = nullptr;
  const std::lock_guard lock(mutex);
  if (loaded == nullptr) loaded = OCTET_TRY_WITH(load(), "train");
  return loaded;
}

} // namespace octet
