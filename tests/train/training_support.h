// SPDX-License-Identifier: Apache-2.0
// A small learnable problem for tests of the trainer.
#pragma once

#include <string>
#include <vector>

#include "octet/dataset.h"
#include "octet/train.h"

namespace octet::test {

/// Points in the plane, three classes in sectors around the origin; exact, without noise.
class Sectors final : public Dataset {
 public:
  explicit Sectors(int64_t count, uint64_t seed = 1);
  std::string description() const override { return "sectors"; }
  int64_t size() const override { return count_; }
  const std::vector<std::pair<std::string, TypeInfo>>& features() const override {
    return features_;
  }
  const std::vector<std::string>& classes() const override { return classes_; }
  Result<Batch> batch(std::span<const int64_t> indices) const override;

  float scale = 1; ///< multiplies every point

 private:
  int64_t count_;
  std::vector<float> points_;
  std::vector<int64_t> labels_;
  std::vector<std::pair<std::string, TypeInfo>> features_;
  std::vector<std::string> classes_{"a", "b", "c"};
};

/// Two linear layers with relu and dropout between them, softmax at the end.
Graph small_network(double dropout = 0.1);
/// The same with Q/DQ on the activations and weights of both layers.
Graph small_quantized_network();

/// A constant of the textual form with uniform numbers within 0.7 of zero.
std::string
weights(const char* name, const char* shape, int count, uint64_t stream, uint64_t seed = 5);

/// On the device that OCTET_TEST_DEVICE names, cpu or cuda.
TrainOptions small_options();

/// Everything that the data set holds, in one batch.
Batch whole(const Dataset& data);
/// What the reference executor computes from the first input of the batch.
Tensor reference_output(const Graph& graph, const Batch& batch);

/// The mean cross-entropy of the probabilities of three classes that it makes of a whole data set.
double reference_loss(const Graph& graph, const Dataset& data);

/// The trained model; an error fails the test.
TrainedModel must_train(const Graph& graph,
                        const Dataset& data,
                        const TrainOptions& options,
                        const Dataset* validation = nullptr);

} // namespace octet::test
