// SPDX-License-Identifier: Apache-2.0
// Which way weights are rounded, learned together through all that lies between them and the outputs
// of a part of a network. Quantization asks; who can differentiate a graph answers (octet/train.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "octet/graph.h"

namespace octet {

/// Examples of a part: one tensor for each of its inputs and outputs.
struct RoundingExamples {
  int64_t rows = 0; ///< examples, the first dimension of all tensors; 0: they are one whole
  std::vector<Tensor> given;  ///< the inputs, as the quantized network before it makes them
  std::vector<Tensor> wanted; ///< the outputs of the float network, f32
  std::vector<Tensor> counts; ///< 1 where an element of an output counts, else 0; empty: all do
};

struct RoundingRequest {
  /// The part. What it reads and hands on goes through Q and DQ where it will; the weights that are
  /// looked at are constants of their own that nothing quantizes.
  Graph part;
  struct Weight {
    std::string constant;
    Tensor below; ///< f32: of each element the number on its lower side
    Tensor gap;   ///< f32: the way to the one above it; 0: there is no choice
  };
  std::vector<Weight> weights;
  std::vector<RoundingExamples> fitted, judged;
  int64_t iterations = 0;
  int64_t batch = 32; ///< examples of an iteration
  uint64_t seed = 0;
  /// Called with the iterations done; false stops.
  std::function<bool(int64_t done)> progress;
};

struct LearnedRounding {
  std::vector<Tensor> up; ///< bool, of each weight: its elements take the number above
  /// Mean square of the outputs' errors on the judged examples, with the nearest numbers and with
  /// these.
  double nearest = 0, learned = 0;
};

/// Errors: a graph that cannot be differentiated, kCancelled.
using LearnRounding = std::function<Result<LearnedRounding>(const RoundingRequest& request)>;

} // namespace octet
