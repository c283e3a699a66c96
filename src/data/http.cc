// SPDX-License-Identifier: Apache-2.0
#include "data/http.h"

#include <array>
#include <memory>
#include <mutex>
#include <optional>

#include "core/format.h"
#include "core/shared_library.h"
#include "core/string_util.h"
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
  decltype(&curl_slist_append) append = nullptr;
  decltype(&curl_slist_free_all) free_list = nullptr;
};

constexpr int kMostRedirections = 5;

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
  OCTET_TRY(library.load("curl_slist_append", curl.append));
  OCTET_TRY(library.load("curl_slist_free_all", curl.free_list));
  if (curl.global(CURL_GLOBAL_DEFAULT) != CURLE_OK)
    return Error("libcurl cannot start; reinstall it");
  return curl;
}

struct Transfer {
  const Curl& curl;
  CURL* handle;
  const HttpRequest& request;
  HttpReply& reply;
  std::optional<Error> failure;
  bool cancelled = false;
  bool wrong_range = false;
};

size_t deliver(char* data, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  long status = 0;
  transfer.curl.info(transfer.handle, CURLINFO_RESPONSE_CODE, &status);
  if (status >= 300) return size * count; // words beside a redirection
  if (transfer.request.resume_from > 0 && status != 206) {
    transfer.wrong_range = true;
    return 0;
  }
  Status taken = transfer.request.on_data(std::as_bytes(std::span(data, size * count)));
  if (taken.ok()) return size * count;
  transfer.failure = std::move(taken).error();
  return 0;
}

size_t take_field(char* data, size_t size, size_t count, void* user) {
  const std::string_view line(data, size * count);
  const size_t colon = line.find(':');
  if (colon != std::string_view::npos)
    static_cast<Transfer*>(user)->reply.fields[lowered(line.substr(0, colon))] =
        trim(line.substr(colon + 1));
  return size * count;
}

int tick(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  auto& transfer = *static_cast<Transfer*>(user);
  transfer.cancelled = transfer.request.cancelled && transfer.request.cancelled();
  return transfer.cancelled ? 1 : 0;
}

void configure(const Curl& curl, CURL* handle, const HttpRequest& request, Transfer& transfer) {
  const auto set = curl.set;
  set(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  set(handle, CURLOPT_FOLLOWLOCATION, 0L); // they are followed below
  set(handle, CURLOPT_FAILONERROR, 1L);
  set(handle, CURLOPT_NOSIGNAL, 1L);
  set(handle, CURLOPT_CONNECTTIMEOUT, 20L);
  set(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(handle, CURLOPT_LOW_SPEED_TIME, 30L);
  set(handle, CURLOPT_USERAGENT, "octet");
  set(handle, CURLOPT_WRITEFUNCTION, &deliver);
  set(handle, CURLOPT_WRITEDATA, &transfer);
  set(handle, CURLOPT_HEADERFUNCTION, &take_field);
  set(handle, CURLOPT_HEADERDATA, &transfer);
  set(handle, CURLOPT_NOPROGRESS, 0L);
  set(handle, CURLOPT_XFERINFOFUNCTION, &tick);
  set(handle, CURLOPT_XFERINFODATA, &transfer);
  if (request.head) set(handle, CURLOPT_NOBODY, 1L);
  // Not CURLOPT_RESUME_FROM: it makes a failure of a server that sends the whole file.
  if (request.resume_from > 0)
    set(handle, CURLOPT_RANGE, fmt::format("{}-", request.resume_from).c_str());
}

/// Where the last answer leads to; empty: nowhere.
std::string next_place(const Curl& curl, CURL* handle, int64_t status) {
  const char* url = nullptr;
  curl.info(handle, CURLINFO_REDIRECT_URL, &url);
  return status >= 300 && status < 400 && url != nullptr ? url : "";
}

/// Goes to a URL, and to where it leads. The code is that of the last transfer.
Result<CURLcode> follow(Transfer& transfer) {
  const Curl& curl = transfer.curl;
  CURL* handle = transfer.handle;
  const HttpRequest& request = transfer.request;
  std::string url = request.url;
  const std::string home = origin_of(url);
  const auto free_list = [&](curl_slist* list) { curl.free_list(list); };
  std::unique_ptr<curl_slist, decltype(free_list)> headers(nullptr, free_list);
  for (const std::string& line : request.headers)
    headers.reset(curl.append(headers.release(), line.c_str()));
  for (int leads = 0;; ++leads) {
    curl.set(handle, CURLOPT_URL, url.c_str());
    curl.set(handle, CURLOPT_HTTPHEADER, origin_of(url) == home ? headers.get() : nullptr);
    const CURLcode code = curl.perform(handle);
    long status = 0;
    curl.info(handle, CURLINFO_RESPONSE_CODE, &status);
    transfer.reply.status = status;
    const std::string next = next_place(curl, handle, status);
    if (code != CURLE_OK || next.empty() || request.head) return code;
    if (leads == kMostRedirections)
      return error("{} leads on more than {} times", request.url, kMostRedirections);
    if (url.starts_with("https:") && !next.starts_with("https:"))
      return error("{} leads from https to {}, which is not followed", request.url, next);
    url = next;
  }
}

} // namespace

std::string origin_of(const std::string& url) {
  const size_t scheme_end = url.find("://");
  if (scheme_end == std::string::npos) return {};
  const std::string scheme = lowered(url.substr(0, scheme_end));
  const size_t begin = scheme_end + 3;
  std::string host = lowered(url.substr(begin, url.find_first_of("/?#", begin) - begin));
  if (const size_t user = host.rfind('@'); user != std::string::npos) host = host.substr(user + 1);
  const size_t bracket = host.rfind(']'), colon = host.rfind(':');
  if (colon == std::string::npos || (bracket != std::string::npos && colon < bracket))
    host += scheme == "https" ? ":443" : ":80";
  return scheme + "://" + host;
}

Result<HttpOutcome> http_get(const HttpRequest& request) {
  const Curl curl = OCTET_TRY(load_curl());
  const std::unique_ptr<CURL, decltype(curl.cleanup)> handle(curl.init(), curl.cleanup);
  if (handle == nullptr) return Error("libcurl cannot start a transfer; reinstall it");
  HttpReply own;
  HttpReply& reply = request.reply == nullptr ? own : *request.reply;
  reply = {};
  Transfer transfer{curl, handle.get(), request, reply, std::nullopt};
  configure(curl, handle.get(), request, transfer);
  std::array<char, CURL_ERROR_SIZE> detail{};
  curl.set(handle.get(), CURLOPT_ERRORBUFFER, detail.data());
  const Result<CURLcode> code = follow(transfer);
  if (transfer.failure) return *std::move(transfer.failure);
  if (transfer.cancelled) return Error("stopped by the user", ErrorCode::kCancelled);
  if (!code.ok()) return code.error();
  if (transfer.wrong_range || (request.resume_from > 0 && reply.status == 416))
    return HttpOutcome::kCannotResume;
  if (*code == CURLE_OK) return HttpOutcome::kDone;
  return error("cannot fetch {}: {}", request.url,
               detail[0] != 0 ? detail.data() : curl.text(*code));
}

} // namespace octet
