// SPDX-License-Identifier: Apache-2.0
// Checks of octet's own promises: they print both values and abort. Never for a user's input.
#pragma once

#include <sstream>

#include "octet/result.h"

#define OCTET_CHECK(condition)                                                                     \
  do {                                                                                             \
    if (!(condition)) ::octet::detail::check_failed(__FILE__, __LINE__, #condition);               \
  } while (false)

#define OCTET_CHECK_EQ(a, b)                                                                       \
  do {                                                                                             \
    const auto& octet_a = (a);                                                                     \
    const auto& octet_b = (b);                                                                     \
    if (!(octet_a == octet_b)) {                                                                   \
      std::ostringstream octet_text;                                                               \
      octet_text << #a " == " #b ": " << octet_a << " and " << octet_b;                            \
      ::octet::detail::check_failed(__FILE__, __LINE__, octet_text.str());                         \
    }                                                                                              \
  } while (false)
