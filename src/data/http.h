// SPDX-License-Identifier: Apache-2.0
// Fetching a URL by libcurl, which is loaded on first use.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "octet/result.h"

namespace octet {

/// What a server said beside the content. Fields of redirections stay where a later answer has none
/// of that name; names are in lower case.
struct HttpReply {
  int64_t status = 0; ///< of the last answer
  std::map<std::string, std::string> fields;
};

struct HttpRequest {
  std::string url;
  int64_t resume_from = 0; ///< asks for the bytes from here on
  bool head = false;       ///< asks for the fields alone, and follows no redirection
  /// `Name: value`, such as a token: sent to the URL's own scheme, host and port, and to no other
  /// that a redirection leads to.
  std::vector<std::string> headers;
  /// Gets the content piece by piece; an error ends the transfer and is returned.
  std::function<Status(std::span<const std::byte>)> on_data;
  /// Asked a few times a second; true ends the transfer with the error kCancelled.
  std::function<bool()> cancelled;
  HttpReply* reply = nullptr; ///< filled, also when the transfer fails
};

enum class HttpOutcome {
  kDone,
  kCannotResume, ///< the server has no ranges (or not this one); nothing was delivered
};

/// http and https only, never from https to http, at most 5 redirections; a transfer that stands
/// still for 30 s ends. The error holds the URL and the reason.
Result<HttpOutcome> http_get(const HttpRequest& request);

/// `https://host:port` of a URL, in lower case and with the port written out.
std::string origin_of(const std::string& url);

} // namespace octet
