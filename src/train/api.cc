// SPDX-License-Identifier: Apache-2.0
// The one C entry of liboctet_train.so.
#include "train/executor/torch_executor.h"
#include "train/guard.h"
#include "train/rounding/learn_rounding.h"
#include "train/runtime.h"
#include "train/trainer/trainer.h"
#include <torch/headeronly/version.h>

#include "octet/train.h"
#include "octet/version.h"

namespace octet::train {
namespace {

class Api final : public TrainApi {
 public:
  std::string_view octet_version() const override { return OCTET_VERSION; }
  std::string_view torch_version() const override { return TORCH_VERSION; }
  bool has_cuda() const override { return cuda_is_there(); }
  Result<std::unique_ptr<Executor>> make_executor(const Graph& graph,
                                                  const TorchOptions& options) override {
    return guarded([&] { return make_torch_executor(graph, options); });
  }
  Result<TrainedModel> train(const Graph& graph,
                             const Dataset& examples,
                             const Dataset* validation,
                             const TrainOptions& options) override {
    return guarded([&] { return train_graph(graph, examples, validation, options); });
  }
  Result<std::vector<Tensor>> gradients(const Graph& graph,
                                        const GradientRequest& request) override {
    return guarded([&] { return graph_gradients(graph, request); });
  }
  Result<LearnedRounding> learn_rounding(const RoundingRequest& request) override {
    return guarded([&] { return octet::train::learn_rounding(request); });
  }
};

} // namespace
} // namespace octet::train

extern "C" octet::TrainApi* octet_train_api() {
  static octet::train::Api api;
  return &api;
}
