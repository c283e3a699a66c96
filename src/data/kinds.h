// SPDX-License-Identifier: Apache-2.0
// What is said of a data set whose kind nobody knows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "octet/result.h"

namespace octet {

/// How data sets are written: `fashion-mnist:DIR`; of arrays and images, and of text.
std::vector<std::string> array_forms();
std::vector<std::string> text_forms();

/// A file or folder named without its kind is told which kind it looks like, a path that is not
/// there that it is not, any other name the nearest kind and all of `forms`.
Error unknown_kind(std::string_view spec, std::vector<std::string> forms);
/// The same where texts are wanted.
Error unknown_text(std::string_view spec);

} // namespace octet
