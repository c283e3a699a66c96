// SPDX-License-Identifier: Apache-2.0
// Seconds of one training epoch of the small CNN, batch 128, on Fashion-MNIST (OCTET_FASHION_MNIST
// names its folder; the generated images otherwise). bench/train_pytorch.py does the same in
// PyTorch.
#include "octet/train.h"

#include <cstdlib>
#include <string>

#include <benchmark/benchmark.h>

#include "octet/models.h"

namespace {

void epoch(benchmark::State& state) {
  const char* folder = std::getenv("OCTET_FASHION_MNIST");
  const auto data = octet::open_dataset(folder == nullptr ? std::string("generated")
                                                          : std::string("fashion-mnist:") + folder,
                                        octet::Split::kTrain);
  const auto api = octet::train_api();
  const auto graph = octet::make_cnn();
  if (!data.ok() || !api.ok() || !graph.ok()) {
    state.SkipWithError((!data.ok()  ? data.error()
                         : !api.ok() ? api.error()
                                     : graph.error())
                            .text()
                            .c_str());
    return;
  }
  octet::TrainOptions options;
  options.optimizer.lr = 0.01;
  options.epochs = static_cast<int64_t>(state.max_iterations) + 1; // the first one warms up
  options.threads = static_cast<int>(state.range(0));
  const auto model = (*api)->train(*graph, **data, nullptr, options);
  if (!model.ok()) {
    state.SkipWithError(model.error().text().c_str());
    return;
  }
  size_t next = 1;
  for (auto _ : state)
    state.SetIterationTime(model->report.history[next++].train_seconds);
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * (*data)->size());
}

} // namespace

BENCHMARK(epoch)->ArgName("threads")->Arg(1)->Arg(2)->Iterations(3)->UseManualTime()->Unit(
    benchmark::kMillisecond);
