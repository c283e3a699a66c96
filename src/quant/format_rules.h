// SPDX-License-Identifier: Apache-2.0
// Which number formats a plan may have: by its target, its mode and its steps.
#pragma once

#include "quant/placement.h"

#include "octet/quantize.h"

namespace octet {

/// Errors (kUnsupported) name the format, what refuses it and what is taken instead: a target that
/// has no such weights or activations or reads no file of their operator set, activations in
/// blocks, activations in a mode that quantizes none, dynamic layers where there are none, steps that reckon with even steps where a
/// format has none.
Status check_formats(const Placement& placement, const QuantizeOptions& options);

/// A weight's scales: how many lie along each of its axes. `axis` and `block` as in TensorPlan.
Shape scale_shape(const Shape& weight, std::optional<int64_t> axis, int64_t block);

/// Whether E5M2 is taken as it is, and over which range: with scale 1.
std::optional<Range> direct_range(const Scheme& scheme, bool direct);

/// The first operator set that has all formats of a plan, and the first file format.
struct PlanVersions {
  int64_t opset, ir_version;
};
PlanVersions versions_of(const QuantizationPlan& plan);

} // namespace octet
