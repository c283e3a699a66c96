// SPDX-License-Identifier: Apache-2.0
// Dataset: labelled or unlabelled examples, addressed by index, handed out in batches.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "octet/graph.h"

namespace octet {

/// Examples gathered along a new or existing first axis.
struct Batch {
  std::vector<std::pair<std::string, Tensor>> inputs; ///< by feature name, first axis: the example
  Tensor labels;                                      ///< i64[n]; empty() when there are none
  /// Further labels by name, for example "mlm_labels" i64[n, s] (-100: none here), and labels that
  /// are numbers, no classes: kNumberLabels f32[n, ...].
  std::vector<std::pair<std::string, Tensor>> targets;
};

/// The target that holds labels which are numbers: what a regression learns, or 0 and 1 for each of
/// several classes.
inline constexpr const char* kNumberLabels = "labels";

struct ImagePreparation; // octet/images.h

enum class Split { kTrain, kTest };

class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual std::string description() const = 0; ///< `Fashion-MNIST, 60000 training images`
  virtual int64_t size() const = 0;
  /// Names and types of the features; the first dimension is the symbol "N".
  virtual const std::vector<std::pair<std::string, TypeInfo>>& features() const = 0;
  virtual const std::vector<std::string>& classes() const = 0; ///< empty: not a classification set
  /// The examples at `indices`, in that order. Errors: an index out of range, unreadable data.
  virtual Result<Batch> batch(std::span<const int64_t> indices) const = 0;
  /// The same for one pass over the set: where examples are masked or augmented they differ from
  /// pass to pass, and are a function of (the set's seed, epoch, index) alone.
  virtual Result<Batch> batch_at(std::span<const int64_t> indices, int64_t epoch) const;
  /// Tokens of an example: batches of like lengths cost least (data/bucketing.h orders them).
  virtual int64_t length(int64_t index) const;
  /// How its images were prepared; null: it has none, or nobody knows.
  virtual const ImagePreparation* images() const;
  /// The file that an example is; empty: it is none.
  virtual std::string file(int64_t index) const;
  /// The place of an example in what the set was drawn from.
  virtual int64_t position(int64_t index) const;
};

/// Opens `kind:path` (see docs/data.md): fashion-mnist:DIR, mnist:DIR, images:DIR, npz:FILE,
/// npy:x=FILE,..., generated. Errors name the file and what is wrong with it.
Result<std::shared_ptr<const Dataset>> open_dataset(std::string_view spec, Split split);

/// How many examples a run takes: `wanted`, or what the model's inputs fix as first dimension, or 1
/// where what it computes holds the sizes of one example.
int64_t batch_for(const Graph& graph, int64_t wanted);
/// The same, and 1 where an example of the data is all that the inputs take: they have no axis for
/// examples.
int64_t batch_for(const Graph& graph, const Dataset& data, int64_t wanted);

/// Binds a batch to the inputs of a graph: by name where names agree, the others by position when
/// their counts agree; converts element types where that is exact and rounds floats to the input's
/// float type. An error says what did not fit.
Result<std::vector<Tensor>> bind_inputs(const Graph& graph, const Batch& batch);

} // namespace octet
