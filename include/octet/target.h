// SPDX-License-Identifier: Apache-2.0
// Targets: what runs a quantized file, and what it makes of it. Rules are tables by version, from
// docs/targets.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "octet/graph.h"

namespace octet {

/// Names that are taken: tensorrt-8.5 to tensorrt-11.1, tensorrt-10 (the newest 10) and the like,
/// onnxruntime, octet.
std::vector<std::string_view> target_names();
/// The name when it is known, without a patch version ("tensorrt-10.13.3" is tensorrt-10.13); an
/// error names the nearest one.
Result<std::string> parse_target(std::string_view name);

enum class Severity {
  kError,   ///< the target refuses the file, or computes something else than it says
  kWarning, ///< it runs, but not as well, or not elsewhere
};

/// One thing that a target does not take.
struct Finding {
  std::string rule; ///< "zero-point-not-zero"
  Severity severity = Severity::kError;
  std::string node; ///< or the value's name
  std::string message;
  std::string fix;
  std::string source; ///< section of docs/targets.md
};

/// Everything that the target would refuse or misread; empty: accepted. Errors: an unknown target,
/// a graph whose types do not fit together.
Result<std::vector<Finding>> check(const Graph& graph, std::string_view target);
bool accepted(const std::vector<Finding>& findings); ///< no finding is an error

/// How one layer will run.
struct LayerForm {
  std::string node;
  std::string op;
  std::string form;      ///< the operator that runs: "QLinearConv", "FusedConv", "Conv"
  std::string precision; ///< "int8", "float", "codes" (moves codes without computing)
  std::string why;
  std::string source;
};

/// One entry for each node that computes something (constants, Q and DQ are left out, and what
/// another node absorbs is named there).
Result<std::vector<LayerForm>> explain(const Graph& graph, std::string_view target);

} // namespace octet
