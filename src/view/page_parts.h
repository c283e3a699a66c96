// SPDX-License-Identifier: Apache-2.0
// The files of page/, which the build puts into the library.
#pragma once

#include <string_view>

namespace octet::view {

std::string_view page_script();
std::string_view page_style();

} // namespace octet::view
