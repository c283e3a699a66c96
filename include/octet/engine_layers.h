// SPDX-License-Identifier: Apache-2.0
// The layers of a TensorRT engine as its inspector (trtexec --exportLayerInfo) writes them, their
// times (trtexec --exportProfile), and how they compare with an explanation. Works without
// TensorRT.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "octet/result.h"
#include "octet/target.h"

namespace octet {

/// A tensor that a layer of an engine reads or writes.
struct EngineTensor {
  std::string name;
  std::string type; ///< "fp32", "fp16", "bf16", "fp8", "int8", "int32", "bool", ...; empty: untold
  std::string format; ///< memory layout in TensorRT's words; empty: untold
};

enum class EngineWork {
  kComputes,
  kMoves,  ///< copies, reformats, quantizes or holds a constant
  kRegion, ///< many nodes compiled as one, of which only the first and last are told
};

struct EngineLayer {
  std::string name;
  std::string type;   ///< "CaskConvolution", "kgen", ...; empty: untold
  std::string tactic; ///< the kernel; empty: untold
  EngineWork work = EngineWork::kComputes;
  std::string precision;           ///< that of the first input with values; empty: untold
  std::vector<std::string> origin; ///< nodes of the ONNX file, maybe constants among them
  std::vector<EngineTensor> inputs, outputs;
};

/// Reads the inspector's JSON of TensorRT 8.4 to 11, of the first optimization profile. Errors: no
/// JSON, no list of layers, a layer without a name.
Result<std::vector<EngineLayer>> parse_engine_layers(std::string_view json);

/// The mean time of a layer in one run.
struct LayerTime {
  std::string layer;
  double ms = 0;
};
/// Reads what `trtexec --exportProfile` writes. Errors: no JSON, an entry without a name or a time.
Result<std::vector<LayerTime>> parse_engine_profile(std::string_view json);

enum class EngineVerdict {
  kAsPredicted,
  kOtherwise,    ///< another precision, or not in one kernel as predicted
  kFused,        ///< computed by the layer of a product, whose precision is not this node's
  kNotPredicted, ///< explain says nothing of its precision: it moves codes or is part of another
  kMoves,        ///< only a layer that moves data comes from it
  kGone,         ///< no layer comes from it: folded or fused without a trace
  kUntold,       ///< the engine does not tell the precision of its layer
};
std::string_view name(EngineVerdict verdict);

/// What became of one layer of an explanation.
struct EngineNode {
  size_t predicted = 0; ///< index in the explanation
  int64_t layer = -1;   ///< index of the engine's layer that computes it; -1: none
  EngineVerdict verdict = EngineVerdict::kGone;
  std::string note; ///< why, where the precisions alone do not say it
};

/// One entry for each layer of the explanation, in its order.
std::vector<EngineNode> compare_engine(const std::vector<LayerForm>& predicted,
                                       const std::vector<EngineLayer>& layers);

/// What was predicted for the nodes that each of the engine's layers computes (the products among
/// them, if there are any), each precision once: "int8", "int8 + float"; empty where nothing was.
std::vector<std::string> predicted_precisions(const std::vector<LayerForm>& predicted,
                                              const std::vector<EngineLayer>& layers,
                                              const std::vector<EngineNode>& nodes);

} // namespace octet
