// SPDX-License-Identifier: Apache-2.0
// Measured with the PyPI wheel of each release (bench/onnxruntime_versions.py): the highest
// operator set and file format that a session takes, and what becomes of each form of
// docs/targets.md 8.
#include "targets/onnxruntime/releases.h"

#include <algorithm>

#include "targets/runtime_limits.h"

namespace octet {

namespace {

constexpr OnnxRuntimeRelease kReleases[] = {
    {115, 19, 9},  {116, 19, 9},  {117, 20, 9},  {118, 21, 10}, {119, 21, 10}, {120, 21, 10},
    {121, 22, 10}, {122, 22, 10}, {123, 23, 11}, {124, 25, 13}, {125, 26, 13}, {126, 26, 13},
    {127, 26, 13}, {128, 26, 13}, {129, 26, 13}, {130, 26, 13}, {131, 26, 13},
};

} // namespace

std::span<const OnnxRuntimeRelease> onnxruntime_releases() {
  return kReleases;
}

const OnnxRuntimeRelease& release_of(const TargetDef& target) {
  for (const OnnxRuntimeRelease& release : kReleases)
    if (release.version == target.version) return release;
  return std::end(kReleases)[-1];
}

RuntimeLimits runtime_limits(std::string_view target) {
  const auto def = find_target(target);
  RuntimeLimits out;
  if (!def.ok()) return out;
  if ((*def)->custom != nullptr) out.opset = (*def)->placement->max_opset;
  if ((*def)->family != TargetFamily::kOnnxRuntime) return out;
  out.opset = std::min(out.opset, release_of(**def).opset);
  out.ir_version = (*def)->placement->max_ir_version;
  return out;
}

} // namespace octet
