// SPDX-License-Identifier: Apache-2.0
// Entry of the training loop: checks, threads, determinism.
#include "train/trainer/trainer.h"

#include "train/runtime.h"
#include "train/trainer/session.h"

namespace octet::train {
namespace {

/// Steps between two readings of a device's losses: it works on while the host prepares the next
/// ones, and a loss that is no number stops the run within that many steps.
constexpr int64_t kReadsOfADevice = 32;

} // namespace

Result<TrainedModel> train_graph(const Graph& graph,
                                 const Dataset& examples,
                                 const Dataset* validation,
                                 const TrainOptions& options) {
  OCTET_TRY(check_options(options));
  const int threads = OCTET_TRY(prepare_runtime(options.device, options.threads));
  const KeepFreedMemory memory;
  SessionPlace place;
  place.device = torch_device(options.device);
  if (!place.device.is_cpu()) place.reads_every = kReadsOfADevice;
  TrainSession session(graph, examples, validation, options, std::move(place));
  OCTET_TRY_WITH(session.prepare(threads), "train");
  return session.run();
}

} // namespace octet::train
