// SPDX-License-Identifier: Apache-2.0
// What `octet engine build` tells of an engine: how it was built, what its layers run in, and why
// some stayed in float.
#pragma once

#include <string>
#include <vector>

#include "cli/engine_report.h"
#include <nlohmann/json_fwd.hpp>

#include "octet/engine.h"

namespace octet::cli {

/// How often the engine's layers, and how many of the model's multiply-adds, run in a precision.
struct PrecisionShare {
  std::string precision; ///< "int8", ...; "untold"
  int64_t layers = 0;
  double work = 0; ///< share of multiply-adds, 0 to 1
};

/// A node whose layer computes in floats.
struct FloatNode {
  size_t node = 0; ///< index in EngineReport::nodes
  std::string why;
};

struct EngineBuildReport {
  std::string engine; ///< its file
  size_t size_bytes = 0;
  double seconds = 0;
  std::string version, device;
  EngineFlags flags;
  TimingCacheUse timing_cache = TimingCacheUse::kNone;
  bool calibrated = false; ///< explain, which looks at Q/DQ, then predicts nothing
  EngineReport layers;
  std::vector<PrecisionShare> precisions; ///< most layers first
  std::vector<FloatNode> in_float;
};

/// Fills `precisions` and `in_float` from `layers`. `missing`: values that the calibration has no
/// range of.
void review_precisions(const Graph& graph,
                       const std::vector<std::string>& missing,
                       EngineBuildReport& report);

/// `calibration`: null, or where ranges are from.
nlohmann::ordered_json build_report_json(const EngineBuildReport& report,
                                         const nlohmann::ordered_json& calibration);
/// `calibration`: empty, or where ranges are from.
std::string build_report_text(const EngineBuildReport& report, const std::string& calibration);

} // namespace octet::cli
