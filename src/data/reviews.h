// SPDX-License-Identifier: Apache-2.0
// Generated film reviews: text that needs no download.
#pragma once

#include <memory>

#include "data/imdb.h"

#include "octet/text_source.h"

namespace octet {

/// 20,000 training and 4,000 test reviews, the same bytes on every machine: five to ten sentences
/// about one film (its title, people, place and genre return), classes negative and positive. The
/// verdict is told by sentences with negation, contrast, comparison and disappointed expectation,
/// so that single words say less than their order (see reviews.cc). With `last` a review has only
/// so many of its last sentences. Errors: more of them than any review has.
Result<std::shared_ptr<const TextSource>>
open_reviews(Split split, Labels labels, int64_t last = 0);

} // namespace octet
