// SPDX-License-Identifier: Apache-2.0
// Loads liboctet_train.so and hands out its one object.
#include <cstdlib>
#include <mutex>

#include "core/component.h"

#include "octet/train.h"

namespace octet {
namespace {

/// How often a thread of LibTorch's looks whether there is work before it sleeps. GNU OpenMP, which
/// reads this where it is loaded, takes 300,000 unless told: beside another program that computes,
/// waiting threads then hold the cores that working ones need, and training takes several times as
/// long (docs/training.md). 1,000 is what it takes itself where one process has too many threads.
void bound_waiting() {
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) setenv("GOMP_SPINCOUNT", "1000", 0);
}

} // namespace

Result<TrainApi*> train_api() {
  static std::mutex mutex;
  static TrainApi* loaded = nullptr;
  const std::lock_guard lock(mutex);
  if (loaded == nullptr) {
    bound_waiting();
    loaded = OCTET_TRY_WITH(open_component<TrainApi>({"liboctet_train.so", "octet_train_api",
                                                      "LibTorch", "build with -DOCTET_TRAIN=ON",
                                                      "run tools/setup to restore LibTorch"}),
                            "train");
  }
  return loaded;
}

} // namespace octet
