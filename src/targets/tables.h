// SPDX-License-Identifier: Apache-2.0
// The targets that octet knows; each file of this room fills in its own.
#pragma once

#include <memory>
#include <span>

#include "quant/placement.h"

#include "octet/result.h"

namespace octet {

enum class TargetFamily { kTensorRt, kOnnxRuntime, kOctet };

struct CustomTarget;

struct TargetDef {
  std::string_view name;
  TargetFamily family;
  int version; ///< major * 100 + minor; 0 where there is none
  const Placement* placement;
  bool cuda = false;                    ///< ONNX Runtime's CUDA provider, whose rules are its own
  const CustomTarget* custom = nullptr; ///< what the file of a user's target says; null: built in
};

std::span<const TargetDef> tensorrt_targets();
std::span<const TargetDef> onnxruntime_targets();
std::span<const TargetDef> octet_targets();

/// Every target, in the order in which they are listed to users.
std::vector<const TargetDef*> all_targets();
/// A target by name, or from a file in TOML. It owns what it points to, a file's texts too; an
/// error names the nearest one.
Result<std::shared_ptr<const TargetDef>> find_target(std::string_view name);
/// The placement of a target by name, which owns what it points to; errors as find_target.
Result<std::shared_ptr<const Placement>> find_placement(std::string_view target);

} // namespace octet
