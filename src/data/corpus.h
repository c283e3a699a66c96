// SPDX-License-Identifier: Apache-2.0
// Plain text as documents.
#pragma once

#include <memory>
#include <vector>

#include "data/records.h"
#include "data/text_file.h"

#include "octet/text_source.h"

namespace octet {

enum class Documents {
  kParagraphs, ///< blank lines stand between documents; a line is a sentence or more
  kLines,      ///< every line is a document
};

/// Documents above 1 MiB are cut at line ends. Errors: no text in the files, a line above 16 MiB.
Result<std::shared_ptr<const TextSource>> make_corpus(std::vector<TextFile> files,
                                                      Documents documents,
                                                      const HeldOut& held_out,
                                                      const Wording& wording);

} // namespace octet
