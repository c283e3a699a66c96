// SPDX-License-Identifier: Apache-2.0
// Sentences of plain text by a simple rule, for next-sentence pairs.
#pragma once

#include <string_view>
#include <vector>

namespace octet {

/// A sentence ends at a line end, at an HTML break (`<br>`, `<br />`), and behind `.`, `!` or `?`
/// (a run of them, with closing quotes and brackets) where white space and then no lower-case ASCII
/// letter follow. A sentence above 1,000 bytes is cut at the next white space. Breaks and white
/// space around are left out, and so is a sentence without anything else.
std::vector<std::string_view> split_sentences(std::string_view text);

} // namespace octet
