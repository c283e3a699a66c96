// SPDX-License-Identifier: Apache-2.0
// What observers hold, as JSON, so that one machine can go on where others observed. Whatever is
// read is refused or what observing leaves behind: then ranges and merges hold as ever.
#pragma once

#include "core/json.h"
#include "quant/observers/extremes.h"
#include <nlohmann/json_fwd.hpp>

#include "octet/observer.h"

namespace octet {

/// Of numbers that one observer counts: so many that sums of thousands of them fit in int64.
inline constexpr int64_t kMostCounted = int64_t{1} << 46;

class ObserverState {
 public:
  /// {"observed": n, "infinities": n, "masked": n, "kept": what the calibrator keeps, null where
  /// nothing was observed}. For an observer of one range.
  static nlohmann::ordered_json write(const Observer& observer);
  /// An observer that differs in nothing from the one that was written. Errors name the member.
  static Result<Observer>
  read(const nlohmann::json& state, const Calibrator& calibrator, const Scheme& scheme);
};

/// [least, largest] of float32 numbers.
Result<Extremes> read_extremes(const nlohmann::json& pair);
/// From 0 to kMostCounted.
Result<int64_t> read_count(const nlohmann::json& number);

} // namespace octet
