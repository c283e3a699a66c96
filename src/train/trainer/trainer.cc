// SPDX-License-Identifier: Apache-2.0
// Entry of the training loop: checks, threads, determinism.
#include "train/trainer/trainer.h"

#include "train/runtime.h"
#include "train/trainer/session.h"

namespace octet::train {

Result<TrainedModel> train_graph(const Graph& graph,
                                 const Dataset& examples,
                                 const Dataset* validation,
                                 const TrainOptions& options) {
  OCTET_TRY(check_options(options));
  const int threads = OCTET_TRY(prepare_runtime(options.device, options.threads));
  const KeepFreedMemory memory;
  TrainSession session(graph, examples, validation, options);
  OCTET_TRY_WITH(session.prepare(threads), "train");
  return session.run();
}

} // namespace octet::train
