// SPDX-License-Identifier: Apache-2.0
// Examples that calibration does not observe, so that what it decides can be measured on them.
#pragma once

#include <vector>

#include "octet/quantize.h"

namespace octet {

/// Batches of examples with what the float network makes of them.
struct HeldBack {
  struct Batch {
    std::vector<Tensor> inputs;
    std::vector<Tensor> outputs; ///< in the order of the graph's
    bool observed = false;
  };
  static constexpr size_t kFew = 3; ///< examples that tell one layer from another
  std::vector<Batch> batches;
  int64_t examples = 0; ///< that are not observed
  /// The data brings too little to hold any of it back: the examples were observed too.
  bool observed = false;
};

/// What is left of a source of `samples` examples (0: not known) when some go to `held`, which must
/// outlive it, with the quietest and the loudest of what is left (which `examples` does not count):
/// the second of every eight, until there are 32; of fewer than 256 examples the second
/// of every four. Where the graph fixes the size of a batch it is batches, not examples, that are
/// counted. Of data with one of them the first goes to both.
CalibrationSource
hold_back(const Graph& graph, CalibrationSource source, int64_t samples, HeldBack& held);

/// Noise over power of a network's outputs beside the float network's, the mean over outputs: 0 where
/// all are equal. Of outputs that are no floats the share that differs. Elements behind a `mask`
/// that is 0 do not count where its shape begins an output's. Infinite where an output is not finite.
class OutputError {
 public:
  void add(std::span<const Tensor> wanted, std::span<const Tensor> got, const Tensor* mask);
  double mean() const;

 private:
  struct One {
    double noise = 0, power = 0;
    void take(double x, double y, bool real);
  };
  std::vector<One> outputs_;
};

/// Error above which outputs are said to have collapsed: 10 dB, and 13 dB where it was measured on
/// fewer than 32 examples, which are off by that much.
double collapsed(int64_t examples);

/// Decibels of an error, -200 to 200.
double decibels(double error);

} // namespace octet
