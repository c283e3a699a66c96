// SPDX-License-Identifier: Apache-2.0
// Fetching a URL by libcurl, which is loaded on first use.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "octet/result.h"

namespace octet {

struct HttpRequest {
  std::string url;
  int64_t resume_from = 0; ///< asks for the bytes from here on
  /// Gets the content piece by piece; an error ends the transfer and is returned.
  std::function<Status(std::span<const std::byte>)> on_data;
  /// Asked a few times a second; true ends the transfer with the error kCancelled.
  std::function<bool()> cancelled;
};

enum class HttpOutcome {
  kDone,
  kCannotResume, ///< the server has no ranges (or not this one); nothing was delivered
};

/// http and https only, at most 5 redirections; a transfer that stands still for 30 s ends. The
/// error holds the URL and the reason.
Result<HttpOutcome> http_get(const HttpRequest& request);

} // namespace octet
