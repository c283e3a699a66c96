// SPDX-License-Identifier: Apache-2.0
// The text of a lock file.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "data/npz.h"

#include "octet/lock.h"

namespace octet {

/// Path of the arrays beside a lock's JSON.
std::string lock_arrays_path(const std::string& path);

/// JSON; `arrays` gets the tensors.
std::string lock_text(const Lock& lock, NamedTensors& arrays);
/// `open` gives the arrays. Errors: as load_lock.
Result<Lock> parse_lock(std::string_view text, const std::function<Result<NamedTensors>()>& open);

} // namespace octet
