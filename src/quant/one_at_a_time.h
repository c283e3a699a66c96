// SPDX-License-Identifier: Apache-2.0
// Networks whose output for an example depends on the others of its batch, such as a spectrogram that
// is cut off so many decibels below the largest number of all. Their ranges are those of examples
// that run alone, since nobody knows what will stand beside them.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "quant/plan.h"

namespace octet {

/// mixes_examples (octet/ranges.h) of a batch. False also where a run fails: what
/// calibration says of that tells more.
bool mixes_examples_of(const Graph& graph,
                       std::span<const Tensor> batch,
                       const QuantizeOptions& options);

/// The data as it is, or one example at a time where the network mixes those of a batch: where it
/// computes something else for the first one between others that are ten thousand times as large.
/// `mixes` says which, once a batch has been read. The graph must outlive it.
OpenCalibration without_mixing(const Graph& graph,
                               OpenCalibration open,
                               const QuantizeOptions& options,
                               const std::shared_ptr<std::optional<bool>>& mixes);

} // namespace octet
