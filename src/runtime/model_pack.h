// SPDX-License-Identifier: Apache-2.0
// Which weight store goes with which model.
#pragma once

#include <optional>
#include <string>

#include "runtime/weight_store.h"

#include "octet/session.h"

namespace octet::runtime {

/// What Session::open finds at a path.
struct FoundModel {
  std::optional<StoredModel> stored; ///< to be used
  std::string pack;                  ///< its path; empty: there is no store
  std::string model;                 ///< the ONNX file; empty: there is none
  std::string why_not;               ///< the store that is there is not used
};

/// `path`: a model with or without a store beside it, or a store with or without its model. Errors:
/// a store alone that cannot be used.
Result<FoundModel> find_model(const std::string& path, Isa isa, const SessionOptions& options);

/// What is said of a store that was not used: the reason, and how to make it anew.
std::string repack_hint(const FoundModel& found, std::string_view why);

} // namespace octet::runtime
