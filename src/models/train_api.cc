// SPDX-License-Identifier: Apache-2.0
// Loads liboctet_train.so and hands out its one object.
#include <mutex>

#include "core/component.h"

#include "octet/train.h"

namespace octet {

Result<TrainApi*> train_api() {
  static std::mutex mutex;
  static TrainApi* loaded = nullptr;
  const std::lock_guard lock(mutex);
  if (loaded == nullptr)
    loaded = OCTET_TRY_WITH(open_component<TrainApi>({"liboctet_train.so", "octet_train_api",
                                                      "LibTorch", "build with -DOCTET_TRAIN=ON",
                                                      "run tools/setup to restore LibTorch"}),
                            "train");
  return loaded;
}

} // namespace octet
