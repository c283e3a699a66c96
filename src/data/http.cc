// SPDX-License-Identifier: Apache-2.0
#include "data/http.h"

#include <array>
#include <memory>
#include <mutex>
#include <optional>

#include "core/format.h"
#include "core/shared_library.h"
#include <curl/curl.h>

// The header's type-checking macro stands in the way of calling through a pointer.
#undef curl_easy_setopt
#undef curl_easy_getinfo

namespace octet {
namespace {

/// The functions of libcurl that are used.
struct Curl {
  decltype(&curl_global_init) global = nullptr;
  decltype(&curl_easy_init) init = nullptr;
  decltype(&curl_easy_setopt) set = nullptr;
  decltype(&curl_easy_perform) perform = nullptr;
  decltype(&curl_easy_getinfo) info = nullptr;
  decltype(&curl_easy_cleanup) cleanup = nullptr;
  decltype(&curl_easy_strerror) text = nullptr;
};

Result<Curl> load_curl() {
  static std::mutex mutex;
  const std::scoped_lock lock(mutex); // curl_global_init need not be thread-safe
  const SharedLibrary library =
      OCTET_TRY(SharedLibrary::open({"libcurl.so.4", "libcurl-gnutls.so.4"},
                                    "install libcurl (Debian: libcurl4) to fetch files"));
  Curl curl;
  OCTET_TRY(library.load("curl_global_init", curl.global));
  OCTET_TRY(library.load("curl_easy_init", curl.init));
  OCTET_TRY(library.load("curl_easy_setopt", curl.set));
  OCTET_TRY(library.load("curl_easy_perform", curl.perform));
  OCTET_TRY(library.load("curl_easy_getinfo", curl.info));
  OCTET_TRY(library.load("curl_easy_cleanup", curl.cleanup));
  OCTET_TRY(library.load("curl_easy_strerror", curl.text));
  if (curl.global(CURL_GLOBAL_DEFAULT) != CURLE_OK)
    return Error("libcurl cannot start; reinstall it");
  return curl;
}

struct Transfer {
  const Curl& curl;
  CURL* handle;
  const HttpRequest& request;
  std::optional<Error> failure;
  bool cancelled = false;
  bool wrong_range = false;
};

size_t deliver(char* data, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  if (transfer.request.resume_from > 0) {
    long status = 0;
    transfer.curl.info(transfer.handle, CURLINFO_RESPONSE_CODE, &status);
    if (status != 206) {
      transfer.wrong_range = true;
      return 0;
    }
  }
  Status status = transfer.request.on_data(std::as_bytes(std::span(data, size * count)));
  if (status.ok()) return size * count;
  transfer.failure = std::move(status).error();
  return 0;
}

int tick(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  auto& transfer = *static_cast<Transfer*>(user);
  transfer.cancelled = transfer.request.cancelled && transfer.request.cancelled();
  return transfer.cancelled ? 1 : 0;
}

void configure(const Curl& curl, CURL* handle, const HttpRequest& request, Transfer& transfer) {
  const auto set = curl.set;
  set(handle, CURLOPT_URL, request.url.c_str());
  set(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  set(handle, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  set(handle, CURLOPT_FOLLOWLOCATION, 1L);
  set(handle, CURLOPT_MAXREDIRS, 5L);
  set(handle, CURLOPT_FAILONERROR, 1L);
  set(handle, CURLOPT_NOSIGNAL, 1L);
  set(handle, CURLOPT_CONNECTTIMEOUT, 20L);
  set(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(handle, CURLOPT_LOW_SPEED_TIME, 30L);
  set(handle, CURLOPT_USERAGENT, "octet");
  set(handle, CURLOPT_WRITEFUNCTION, &deliver);
  set(handle, CURLOPT_WRITEDATA, &transfer);
  set(handle, CURLOPT_NOPROGRESS, 0L);
  set(handle, CURLOPT_XFERINFOFUNCTION, &tick);
  set(handle, CURLOPT_XFERINFODATA, &transfer);
  // Not CURLOPT_RESUME_FROM: it makes a failure of a server that sends the whole file.
  if (request.resume_from > 0)
    set(handle, CURLOPT_RANGE, fmt::format("{}-", request.resume_from).c_str());
}

} // namespace

Result<HttpOutcome> http_get(const HttpRequest& request) {
  const Curl curl = OCTET_TRY(load_curl());
  const std::unique_ptr<CURL, decltype(curl.cleanup)> handle(curl.init(), curl.cleanup);
  if (handle == nullptr) return Error("libcurl cannot start a transfer; reinstall it");
  Transfer transfer{curl, handle.get(), request, std::nullopt};
  configure(curl, handle.get(), request, transfer);
  std::array<char, CURL_ERROR_SIZE> detail{};
  curl.set(handle.get(), CURLOPT_ERRORBUFFER, detail.data());
  const CURLcode code = curl.perform(handle.get());
  long status = 0;
  curl.info(handle.get(), CURLINFO_RESPONSE_CODE, &status);
  if (transfer.failure) return *std::move(transfer.failure);
  if (transfer.cancelled) return Error("stopped by the user", ErrorCode::kCancelled);
  if (transfer.wrong_range || (request.resume_from > 0 && status == 416))
    return HttpOutcome::kCannotResume;
  if (code == CURLE_OK) return HttpOutcome::kDone;
  return error("cannot fetch {}: {}", request.url,
               detail[0] != 0 ? detail.data() : curl.text(code));
}

} // namespace octet
