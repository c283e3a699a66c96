// SPDX-License-Identifier: Apache-2.0
// All that is found of a quantized model beside its float one: for tables, JSON and pages.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "quant/see/look.h"

namespace octet {

/// A change of the plan, measured on examples held back.
struct TriedRemedy {
  std::string name;   ///< "calibrator"
  std::string words;  ///< "percentile for \"relu1\""
  double gain_db = 0; ///< of the outputs
  bool applied = false;
};

struct LayerFinding {
  QuantizedLayer layer;
  std::string op;
  double error_alone = 0; ///< noise over power of the outputs with this layer quantized alone
  std::optional<double> accuracy_alone;
  std::optional<TriedRemedy> remedy; ///< none: nothing helps, or nothing was tried
  std::vector<TriedRemedy> tried;
};

struct Findings {
  std::string float_model, quantized_model, data;
  ModelPairs pairs;
  Looked looked;
  OutputsLooked outputs;
  /// Of the examples that layers are quantized alone on, where the data has labels.
  std::optional<double> float_accuracy, quantized_accuracy;
  std::vector<LayerFinding> ranking; ///< the worst first
  int64_t alone_examples = 0;
  size_t layers = 0;            ///< of which `ranking` has those with the worst tensors
  std::string plan_from;        ///< a file's name; empty: read off the quantized model
  double plan_gap_db = 0;       ///< outputs of the plan beside those of the file
  bool plan_is_the_file = true; ///< the gap is a hundredth of the quantization error or less
  int64_t held_back = 0;        ///< examples that remedies were measured on
  double held_sqnr_db = 0;      ///< of the plan on these
  bool stopped = false;         ///< by the user: what follows was left out
};

} // namespace octet
