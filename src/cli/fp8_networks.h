// SPDX-License-Identifier: Apache-2.0
// What the commands under `octet fp8` share: small networks that are trained once and kept, and
// their accuracy with numbers in a format.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/command.h"
#include "models/small_networks.h"
#include "quant/simulate.h"

#include "octet/dataset.h"
#include "octet/number_format.h"
#include "octet/train_options.h"

namespace CLI {
class App;
} // namespace CLI

namespace octet::cli {

/// Formats of weights and activations that an experiment compares.
struct StudyFormat {
  std::string name;
  NumberFormat weights, activations;
  SimulatedFormats simulated;          ///< in place of them, where ONNX has no type
  std::vector<std::string> steps = {}; ///< of the plan, behind its ranges
};
/// int8, E5M2 as a direct cast, E4M3, E3M4 and (`E4M3/E3M4`) E4M3 activations with E3M4 weights: those of
/// arXiv:2309.14592, one scale for each output channel of a weight and one for an activation.
std::vector<StudyFormat> study_formats();

struct StudyNetwork {
  SmallNetwork what;
  Graph graph;
  std::shared_ptr<const Dataset> train, test;
  double accuracy = 0; ///< in float, on the test part
};

/// Those of small_networks() whose names match one of the patterns (* and ?) of `--networks`; all
/// where there are none. Errors: a pattern that names none.
Result<std::vector<SmallNetwork>> networks_named(std::span<const std::string> patterns);

/// The options of these commands, and what follows from them.
class StudyFlags {
 public:
  void define(CLI::App& app);
  /// Makes the folder. Errors: it is none and cannot be made, a results file that is there already.
  Status check(const std::vector<std::string>& results, const Common& common) const;
  std::string path(const std::string& name) const; ///< within the folder
  /// The network with fresh weights, and its data.
  Result<StudyNetwork> fresh(const SmallNetwork& what, const Common& common) const;
  /// How networks of its kind are trained here, in float.
  TrainOptions training(const SmallNetwork& what, const Common& common) const;
  /// The network of the folder, trained first where it is not there yet, with its data.
  Result<StudyNetwork> network(const SmallNetwork& what, const Common& common) const;
  /// Accuracy on the test part of the network with its numbers in a format: ranges are the extremes
  /// of 256 training examples.
  Result<double> accuracy(const StudyNetwork& network,
                          const Graph& graph,
                          const StudyFormat& format,
                          const Common& common) const;

 private:
  Result<StudyNetwork> with_data(const SmallNetwork& what) const; ///< without its graph

  std::string folder_, images_ = "generated";
};

} // namespace octet::cli
