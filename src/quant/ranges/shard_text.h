// SPDX-License-Identifier: Apache-2.0
// The first line of a shard, which says what it is of.
#pragma once

#include <string_view>

#include "octet/range_shards.h"

namespace octet {

/// As parse_shard_text, without tensors, and whether they are there and whole stays open.
Result<RangeShard> parse_shard_heading(std::string_view text);

} // namespace octet
