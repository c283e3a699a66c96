// SPDX-License-Identifier: Apache-2.0
#include "quant/observers/state.h"

#include <cmath>
#include <limits>
#include <optional>

#include "core/check.h"
#include "core/format.h"
#include "quant/observers/channel.h"
#include <nlohmann/json.hpp>

namespace octet {

namespace {

/// The float32 that a number is exactly.
std::optional<float> exact_float(const nlohmann::json& number) {
  if (!number.is_number()) return std::nullopt;
  const auto x = number.get<double>();
  constexpr double kLargest = std::numeric_limits<float>::max();
  if (!(std::fabs(x) <= kLargest)) return std::nullopt;
  const auto out = static_cast<float>(x);
  if (static_cast<double>(out) != x) return std::nullopt;
  return out;
}

Result<int64_t> count_of(const nlohmann::json& state, const char* key) {
  return read_count(*OCTET_TRY(member(state, key))).with(fmt::format("\"{}\"", key));
}

} // namespace

Result<Extremes> read_extremes(const nlohmann::json& pair) {
  if (pair.is_array() && pair.size() == 2) {
    const auto lo = exact_float(pair[0]), hi = exact_float(pair[1]);
    if (lo && hi && *lo <= *hi) return Extremes{*lo + 0.0F, *hi + 0.0F};
  }
  return error("no extremes: give [least, largest] as float32 numbers");
}

Result<int64_t> read_count(const nlohmann::json& number) {
  // Whole numbers beyond int64 are kept as unsigned ones.
  if (number.is_number_unsigned() && number.get<uint64_t>() <= static_cast<uint64_t>(kMostCounted))
    return number.get<int64_t>();
  return error("no count: give a whole number from 0 to {}", kMostCounted);
}

nlohmann::ordered_json ObserverState::write(const Observer& observer) {
  OCTET_CHECK(observer.channels_.size() <= 1);
  nlohmann::ordered_json out = {{"observed", observer.observed_},
                                {"infinities", observer.infinities_},
                                {"masked", observer.masked_},
                                {"kept", nullptr}};
  if (observer.observed_ > 0) out["kept"] = observer.channels_[0]->state();
  return out;
}

Result<Observer> ObserverState::read(const nlohmann::json& state,
                                     const Calibrator& calibrator,
                                     const Scheme& scheme) {
  Observer out = OCTET_TRY(Observer::create(calibrator, scheme));
  out.observed_ = OCTET_TRY(count_of(state, "observed"));
  out.infinities_ = OCTET_TRY(count_of(state, "infinities"));
  out.masked_ = OCTET_TRY(count_of(state, "masked"));
  const nlohmann::json& kept = *OCTET_TRY(member(state, "kept"));
  if (kept.is_null() != (out.observed_ == 0))
    return error("\"kept\" and \"observed\" disagree: {} elements were observed", out.observed_);
  if (kept.is_null()) return out;
  out.channels_.push_back(make_channel_observer(calibrator, scheme));
  OCTET_TRY_WITH(out.channels_[0]->restore(kept), "\"kept\"");
  const Histogram* histogram = out.channels_[0]->histogram();
  if (histogram != nullptr && histogram->count() != out.observed_)
    return error("\"kept\" counts {} elements, {} were observed", histogram->count(),
                 out.observed_);
  return out;
}

} // namespace octet
