// SPDX-License-Identifier: Apache-2.0
// The page of octet view: one HTML file with the drawings as JSON, a script and a style in it, that
// fetches nothing.
#pragma once

#include <string>
#include <vector>

#include "view/links.h"

namespace octet::view {

struct Page {
  std::vector<Picture> pictures; ///< one or two
  Links links;                   ///< of two
  std::string data;              ///< what it was measured on; empty: nothing was
};

struct WrittenPage {
  std::string html;
  std::vector<size_t> boxes, groups, layouts; ///< by picture
};

/// Errors: those of the layout.
Result<WrittenPage> write_page(const Page& page);

} // namespace octet::view
