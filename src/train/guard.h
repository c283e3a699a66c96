// SPDX-License-Identifier: Apache-2.0
// The edge where LibTorch's exceptions become errors of ours.
#pragma once

#include <exception>
#include <new>
#include <string>

#include <c10/util/Exception.h>

#include "octet/result.h"

namespace octet::train {

/// The first line of a LibTorch message, in our style: lower case and without a full stop.
std::string plain_message(const char* message);
/// The error for the exception that is being handled; call it only in a catch clause.
Error current_error();

/// Calls `fn`, which returns a Result, and turns what it throws into an error.
template <class Fn>
auto guarded(Fn&& fn) -> decltype(fn()) {
  try {
    return fn();
  } catch (...) {
    return current_error();
  }
}

} // namespace octet::train
