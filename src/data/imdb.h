// SPDX-License-Identifier: Apache-2.0
// The movie reviews of Maas et al., Learning Word Vectors for Sentiment Analysis, ACL 2011.
#pragma once

#include <memory>
#include <string>

#include "octet/text_source.h"

namespace octet {

enum class ImdbPart { kTrain, kTest, kUnsupervised };

/// From a folder of train.tsv, test.tsv and unsup.tsv (gzipped or plain, no header; columns id,
/// rating, label 0, 1 or -1, text) or from the folder aclImdb with one file a review. Classes
/// negative and positive. With `Labels::kNo` nothing is labelled.
enum class Labels { kNo, kYes };
Result<std::shared_ptr<const TextSource>>
open_imdb(const std::string& folder, ImdbPart part, Labels labels);

} // namespace octet
